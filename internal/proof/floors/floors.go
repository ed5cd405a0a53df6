// Package floors checks who may import whom: an import only goes down. The table is in its test, which asks the go
// command for the real import graph. It also checks that docs/coverage.md names existing tests.
package floors
