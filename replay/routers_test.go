package replay

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// classed makes n requests, of class a and b in turn.
func classed(n int) []plan.Request {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), InputTokens: 9 + i, OutputTokens: 2, Class: string(rune('a' + i%2))}
	}
	return requests
}

// A router that names the replica: its name stands in the row, also of an answer that is an error; where it names none, nothing does.
func TestARowHasTheReplicaThatTheRouterNames(t *testing.T) {
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := len(bodyOf(r).Prompt); n {
		case 9: // names none
		case 10:
			w.Header().Set("x-replica", "10.0.0.10")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		default:
			w.Header().Set("x-replica", fmt.Sprint("10.0.0.", n))
		}
		well(0)(w, r)
	})
	s := settingsFor(fake.URL)
	s.ReplicaHeader = "X-Replica"
	folder := ran(t, planOf(t, plan.Each(classed(4))), s)
	for _, row := range rowsIn(t, folder) {
		want := map[int]string{9: "", 10: "10.0.0.10", 11: "10.0.0.11", 12: "10.0.0.12"}[row.InputTokens]
		if row.Endpoint != want {
			t.Errorf("%d tokens: endpoint %q, want %q", row.InputTokens, row.Endpoint, want)
		}
	}
	if d := documentIn(t, folder); d.Target.ReplicaHeader != "X-Replica" {
		t.Errorf("%+v", d.Target)
	}
}

// Two models at one address, by class; a third at an address of its own. What no server serves is refused before anything is sent.
func TestAClassAsksForItsOwnModel(t *testing.T) {
	fake, other := newFake(t, well(0)), newFake(t, well(0))
	fake.probe = status(200, `{"data":[{"id":"tiny","max_model_len":4096},{"id":"large","max_model_len":4096}]}`)
	other.probe = status(200, `{"data":[{"id":"third","max_model_len":4096}]}`)
	s := settingsFor(fake.URL)
	s.Models = map[string]string{"b": "large"}
	folder := ran(t, planOf(t, plan.Each(classed(4))), s)
	for _, body := range fake.bodies {
		if want := map[bool]string{true: "tiny", false: "large"}[len(body.Prompt)%2 == 1]; body.Model != want {
			t.Errorf("a prompt of %d tokens asked for %s, want %s", len(body.Prompt), body.Model, want)
		}
	}
	if d := documentIn(t, folder); d.Target.Models["b"] != "large" || d.Target.Model != "tiny" {
		t.Errorf("%+v", d.Target)
	}

	s.Models, s.Routes = map[string]string{"b": "third"}, map[string]string{"b": other.URL}
	if result, _, err := replayed(t, planOf(t, plan.Each(classed(4))), s); err != nil || result.Completed != 4 || len(other.bodies) != 2 || other.bodies[0].Model != "third" {
		t.Errorf("%+v, %v, %+v", result, err, other.bodies)
	}

	fake = newFake(t, well(0))
	s = settingsFor(fake.URL)
	s.Models = map[string]string{"b": "third"}
	refusedRun(t, planOf(t, plan.Each(classed(4))), s, `does not serve the model "third"`, fake)
	if _, err := Run(t.Context(), planOf(t, plan.Each(classed(4))), s, filepath.Join(t.TempDir(), "run")); !strings.Contains(hint.Of(err), "--class-model CLASS=NAME") {
		t.Errorf("the hint names another flag: %q", hint.Of(err))
	}
}
