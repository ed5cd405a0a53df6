// Package metrics reads what servers and GPUs say about themselves: Prometheus text
// in all its wrappings, samplers' tables, Grafana's panels, a server's log. One
// file per format.
//
// Every format makes the same rows (sample.go): a series, by its name and labels,
// has a value at an instant. Names and labels stay as the exporter wrote them, so
// that one query serves all sources, and nothing is derived here: rates of counters
// and quantiles of histograms are SQL.
//
// What formats share: instants.go turns stamps of any unit into nanoseconds since
// the first one, widetable.go reads tables with a column per series, and
// prometheus.go has the state of an exposition that goes on over several scrapes.
// The text of a sample is parsed by ingest/read, which runs use as well.
//
// Labels that name people (users, keys, teams) are replaced by numbers; labels that
// hold texts likewise. Units are converted only where one column mixes them
// (Grafana).
package metrics
