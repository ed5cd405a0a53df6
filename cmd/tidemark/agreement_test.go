package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// One question has one answer: what-if says of a plan what capacity says of it, as a rate and with the same interval, of one server and of three in sessions, and of a part of the traffic. A rehearsal a
// tenth below the low end keeps the SLO, and one a fifth above the high end does not.
func TestWhatIfSaysWhatCapacitySays(t *testing.T) {
	t.Chdir(t.TempDir())
	const slo = "schema: tidemark.slo/2\nname: chat\nobjectives:\n  - {metric: ttft_from_due, percentile: 95, at_most: 1s}\n  - {metric: tpot, percentile: 95, at_most: 30ms}\n"
	must.Do(t, os.WriteFile("slo.yaml", []byte(slo), 0o644))
	ask := func(command string) map[string]any {
		t.Helper()
		var answer, said strings.Builder
		if code := run(append([]string{"tidemark"}, strings.Fields(command)...), strings.NewReader(""), &answer, &said); code != 0 {
			t.Fatalf("tidemark %s: code %d\n%s", command, code, said.String())
		}
		text := strings.Trim(strings.TrimSpace(answer.String()), "[]")
		one := map[string]any{}
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("tidemark %s: %v\n%s", command, err, text)
		}
		return one
	}
	for name, profile := range map[string]string{
		"open":     "mode: open\narrivals: {process: poisson, rate_per_s: 4}\nduration: 60s\nclasses:\n  - {name: chat, share: 1, input_tokens: {constant: 800}, output_tokens: {constant: 60}}\n",
		"sessions": "mode: sessions\narrivals: {process: poisson, rate_per_s: 1}\nduration: 60s\nblock_tokens: 16\nclasses:\n  - {name: chat, share: 1, input_tokens: {constant: 800}, output_tokens: {constant: 60}, turns: {constant: 3}, think_s: {constant: 2}}\n",
	} {
		must.Do(t, os.WriteFile(name+".yaml", []byte("schema: tidemark.profile/1\nname: "+name+"\n"+profile), 0o644))
	}
	if code := run(strings.Fields("tidemark plan sessions.yaml --output sessions.jsonl.zst"), strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		t.Fatal("plan: ", code)
	}
	const on = " --slo slo.yaml --gpu H100 --catalog-model llama-3.1-8b"
	agreed(t, ask, "sessions.jsonl.zst --replicas 3"+on)
	whole, part := agreed(t, ask, "open.yaml"+on), agreed(t, ask, "open.yaml --window 40s"+on)
	if whole["rate_per_s"] == part["rate_per_s"] {
		t.Errorf("%v requests/s of the whole minute and of its busiest 40 s", whole["rate_per_s"])
	}
	for scale, want := range map[float64]int{0.9 * whole["scale_low"].(float64): 0, 1.2 * whole["scale_high"].(float64): kit.ExitNotMet} {
		var said strings.Builder
		if code := run(strings.Fields(fmt.Sprintf("tidemark rehearse --scale %.3f open.yaml", scale)+on), strings.NewReader(""), &said, io.Discard); code != want {
			t.Errorf("at %.3f times: code %d, want %d\n%s", scale, code, want, said.String())
		}
	}
}

// agreed asks capacity and what-if, and is what capacity answers.
func agreed(t *testing.T, ask func(command string) map[string]any, on string) map[string]any {
	t.Helper()
	capacity, whatIf := ask("capacity --json "+on), ask("what-if --json "+on)
	for of, column := range map[string]string{"rate_per_s": "capacity_per_s", "rate_low_per_s": "low_capacity_per_s", "rate_high_per_s": "high_capacity_per_s"} {
		if capacity[of] == nil || capacity[of] != whatIf[column] {
			t.Errorf("%s: %s of capacity is %v, %s of what-if %v", on, of, capacity[of], column, whatIf[column])
		}
	}
	return capacity
}
