// Package read holds the verbs that read what the warehouse has: runs, diagnoses, reports, comparisons, verdicts, exports, SQL, and
// the server for notebooks. It refuses to write into the warehouse.
package read
