// Package model holds the verbs that ask the bandwidth model. It refuses to calculate: package analysis and the macros do.
package model
