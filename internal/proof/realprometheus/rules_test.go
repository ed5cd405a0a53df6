//go:build prometheus

package realprometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
)

// The rules of docs are rules to Prometheus, and each fires, once its time is over, on what it is for and not on a server that is well.
func TestRules(t *testing.T) {
	rules := must.Get(filepath.Abs("../../../docs/tidemark-rules.yaml"))(t)
	test := filepath.Join(t.TempDir(), "test.yaml")
	must.Do(t, os.WriteFile(test, []byte("rule_files: ["+rules+"]\n"+cases), 0o600))
	for _, words := range [][]string{{"check", "rules", rules}, {"test", "rules", test}} {
		if out, err := exec.Command(filepath.Join(folder(t), "promtool"), words...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", words[0], err, out)
		}
	}
}

const cases = `
evaluation_interval: 1m
tests:
  - interval: 1m # a server that is well
    input_series:
      - {series: 'up{job="tidemark", instance="a"}', values: '1x60'}
      - {series: 'tidemark_serve_published_up{instance="a"}', values: '1x60'}
      - {series: 'tidemark_serve_snapshot_age_seconds{instance="a"}', values: '100+60x60'}
      - {series: 'tidemark_serve_queries_total{instance="a", outcome="ok"}', values: '0+60x60'}
      - {series: 'tidemark_serve_queries_total{instance="a", outcome="failed"}', values: '0x60'}
      - {series: 'tidemark_serve_queries_total{instance="a", outcome="busy"}', values: '0+1x60'}
      - {series: 'tidemark_replay_exit_code{service="chat"}', values: '0x60'}
    promql_expr_test:
      - {expr: 'count(ALERTS)', eval_time: 50m, exp_samples: []}
  - interval: 1m # one of which nothing is
    input_series:
      - {series: 'up{job="tidemark", instance="b"}', values: '0x60'}
      - {series: 'tidemark_serve_published_up{instance="b"}', values: '0x60'}
      - {series: 'tidemark_serve_snapshot_age_seconds{instance="b"}', values: '200000+60x60'}
      - {series: 'tidemark_serve_queries_total{instance="b", outcome="ok"}', values: '0+60x60'}
      - {series: 'tidemark_serve_queries_total{instance="b", outcome="failed"}', values: '0+1x60'}
      - {series: 'tidemark_serve_queries_total{instance="b", outcome="memory"}', values: '0+60x60'}
      - {series: 'tidemark_serve_query_seconds_bucket{instance="b", le="10"}', values: '0+1x60'}
      - {series: 'tidemark_serve_query_seconds_bucket{instance="b", le="30"}', values: '0+60x60'}
      - {series: 'tidemark_serve_query_seconds_bucket{instance="b", le="+Inf"}', values: '0+60x60'}
      - {series: 'tidemark_replay_exit_code{service="chat"}', values: '1x60'}
      - {series: 'tidemark_replay_exit_code{service="code"}', values: '3x60'}
      - {series: 'tidemark_replay_exit_code{service="batch"}', values: '4x60'}
      - {series: 'tidemark_replay_finished_seconds{service="batch"}', values: '-100000x60'}
    promql_expr_test:
      - expr: 'count by (alertname) (ALERTS{alertstate="firing"})'
        eval_time: 50m
        exp_samples:
          - {labels: '{alertname="TidemarkServeDown"}', value: 1}
          - {labels: '{alertname="TidemarkSnapshotNotReadable"}', value: 1}
          - {labels: '{alertname="TidemarkSnapshotOld"}', value: 1}
          - {labels: '{alertname="TidemarkQueriesFail"}', value: 1}
          - {labels: '{alertname="TidemarkQueriesTurnedAway"}', value: 1}
          - {labels: '{alertname="TidemarkQueriesSlow"}', value: 1}
          - {labels: '{alertname="TidemarkReplayMissing"}', value: 1}
          - {labels: '{alertname="TidemarkReplayFailed"}', value: 1}
          - {labels: '{alertname="TidemarkReplayInvalid"}', value: 1}
          - {labels: '{alertname="TidemarkSLONotMet"}', value: 1}
`
