package week

import (
	"strings"
	"testing"

	"tidemark/analysis/week"
)

// The page of the demo told to collect, which refused: its service file names no server.
func TestAServiceWithoutAPrometheusNamesItFirst(t *testing.T) {
	for text, names := range map[string]bool{"service: chat\nslo: s.yaml\n": true, "service: chat\nmetrics: http://p:9090\n": false, "": false} {
		f := &facts{Report: &week.Report{File: week.File{Path: "chat.yaml", Text: text}}}
		got := f.byCollect("Latencies are not known. This command fetches them:")
		if strings.Contains(got.Text, "Once the service file names its Prometheus (metrics: ") != names || got.Command != "tidemark collect --service chat.yaml" {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
