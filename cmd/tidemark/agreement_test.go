package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One question has one answer: what-if says of a plan what capacity says of it, as a rate and with the same interval; in sessions too.
func TestWhatIfSaysWhatCapacitySays(t *testing.T) {
	t.Chdir(t.TempDir())
	const slo = "schema: tidemark.slo/2\nname: chat\nobjectives:\n  - {metric: ttft_from_due, percentile: 95, at_most: 1s}\n  - {metric: tpot, percentile: 95, at_most: 30ms}\n"
	if err := os.WriteFile("slo.yaml", []byte(slo), 0o644); err != nil {
		t.Fatal(err)
	}
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
		path := filepath.Join(".", name+".yaml")
		if err := os.WriteFile(path, []byte("schema: tidemark.profile/1\nname: "+name+"\n"+profile), 0o644); err != nil {
			t.Fatal(err)
		}
		if code := run(strings.Fields("tidemark plan "+path+" --output "+name+".jsonl.zst"), strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
			t.Fatal("plan: ", code)
		}
		const on = " --slo slo.yaml --gpu H100 --model llama-3.1-8b --json"
		capacity, whatIf := ask("capacity "+name+".jsonl.zst"+on), ask("what-if "+name+".jsonl.zst"+on)
		for of, column := range map[string]string{"rate_per_s": "capacity_per_s", "rate_low_per_s": "low_capacity_per_s", "rate_high_per_s": "high_capacity_per_s"} {
			if capacity[of] == nil || capacity[of] != whatIf[column] {
				t.Errorf("%s: %s of capacity is %v, %s of what-if %v", name, of, capacity[of], column, whatIf[column])
			}
		}
	}
}
