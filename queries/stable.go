package queries

import (
	"bytes"
	_ "embed" // stable.csv
	"encoding/csv"
)

//go:embed stable.csv
var stable []byte

// Stable are the columns that others may hold on to, in the snapshot and in the lake:
// relation, column, type and meaning. A promised column keeps its name, its type and its
// meaning; another meaning is another column.
func Stable() [][]string {
	rows, err := csv.NewReader(bytes.NewReader(stable)).ReadAll()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return rows[1:]
}
