// Package realprometheus tests `tidemark collect` against a real Prometheus, Debian's. setup.sh downloads and unpacks it outside the tree, and
// the tests (build tag prometheus, `make test-prometheus`) use it:
//
//   - it scrapes two `tidemark simulate` under a little load, one of which is started again, and what was collected must add up to what
//     the servers counted;
//   - eight days of two replicas are written with promtool and collected, with a restart, a gap, a bound that is spelled in two ways and a replica that
//     comes later;
//   - it refuses without a password, and it has limits.
package realprometheus
