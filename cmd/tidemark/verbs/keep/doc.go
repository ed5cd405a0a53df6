// Package keep holds the verbs that keep the house: the warehouse is checked, published and brought up to this version. It refuses
// to mend what a check finds.
package keep
