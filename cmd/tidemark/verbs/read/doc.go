// Package read holds the verbs that read what the warehouse has: runs, reports, comparisons, SQL, and the server for notebooks. It refuses to write into the warehouse.
package read
