// Package keep holds the verbs that keep the house: the warehouse is checked, brought up to this version and published.
package keep
