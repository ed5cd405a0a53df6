// Package floors holds the house's rule of who may import whom: an import only
// goes down. The table is in its test, which asks the go command for the real
// import graph; there is nothing to call.
package floors
