// Package tables prints answers of the warehouse, row by row and without holding them: CSV and JSON in full precision and base
// units for programs, aligned text with units and three significant figures for people.
//
// tables.go has the interface, csv.go, json.go, text.go and box.go one form each, value.go how one value is written. What a column
// holds is known by the end of its name alone (_s, _per_s), as everywhere in the project.
package tables
