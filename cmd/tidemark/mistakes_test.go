package main

import (
	"io"
	"strings"
	"testing"

	"tidemark/internal/cli/commandline"
)

// Words of other tools, short ones and mistyped ones get the right word, and exit code 2.
func TestWrongWordsGetTheRightOne(t *testing.T) {
	for _, test := range []struct{ command, says, advises string }{
		{"repaly x", `no verb named "repaly"`, "did you mean replay?"},
		{"what-fi x", `no verb named "what-fi"`, "did you mean what-if?"},
		{"bench", `no verb named "bench"`, "did you mean replay?"},
		{"walk", `no verb named "walk"`, `"tidemark help" lists the verbs`},
		{"help repaly", "No help topic for 'repaly'", ""},
		{"--nonsense", "no flag --nonsense without a verb", "lists the verbs"},
		{"replay x --tp 2", "replay: no flag --tp", "did you mean --tensor-parallel-size?"},
		{"predict --tp 2", "predict: no flag --tp", "did you mean --tensor-parallel-size?"},
		{"replay x --url http://a", "replay: no flag --url", "did you mean --base-url?"},
		{"replay x --target http://a", "replay: no flag --target", "did you mean --base-url?"},
		{"replay x --rate 3", "replay: no flag --rate", "did you mean --request-rate?"},
		{"plan x --qps 3", "plan: no flag --qps", "did you mean --request-rate?"},
		{"predict queue --qps 3", "predict queue: no flag --qps", "did you mean --arrival-rate?"},
		{"replay x --concurrency 3", "replay: no flag --concurrency", "did you mean --max-concurrency?"},
		{"predict --max-concurrency 3", "predict: no flag --max-concurrency", "did you mean --concurrency?"},
		{"what-if x --max_concurrency 3", "no flag --max_concurrency", "did you mean --max-concurrency?"},
		{"replay x --num-prompts 100", "replay: no flag --num-prompts", "did you mean --limit?"},
		{"predict --random-input-len 100", "no flag --random-input-len", "did you mean --input-tokens?"},
		{"replay x --random-output-len 100", "no flag --random-output-len", "a profile draws other ones"},
		{"plan x --dataset-path y", "no flag --dataset-path", "tidemark plan SOURCE"},
		{"predict fit --kv-dtype fp8", "no flag --kv-dtype", "did you mean --kv-cache-dtype?"},
		{"sources --warehose w", "no flag --warehose", "did you mean --warehouse?"},
		{"sources --slo s.yaml", "no flag --slo", "--slo is a flag of "},
		{"warehouse purge x --yes", "no flag --yes", "warehouse purge asks nothing: leave it out"},
		{"sources --zzz", "no flag --zzz", "tidemark sources --help"},
		{"replay x --duration 120", "replay: --duration 120: not a duration", "120 what? 120s or 2m"},
		{"plan x --duration 10min", "plan: --duration 10min: not a duration", "write it as 10m"},
		{"replay x --warm-up 1day", "--warm-up 1day: not a duration", "write it as 24h"},
		{"replay x --max-lateness 20", "--max-lateness 20: not a duration", "20 what? 20ms, 20s or 20m"},
		{"simulate --fixed-ttft soon", "--fixed-ttft soon: not a duration", "write it like 500ms, 30s, 10m or 1h30m"},
		{"predict queue --service-time 0.2", "--service-time 0.2: not a duration", "0.2 what? 0.2ms, 0.2s or 0.2m"},
		{"predict --max-num-seqs 1.5", "--max-num-seqs: 1.5 is not a whole number", ""},
		{"plan x --speed two", "--speed two: not a number", "tidemark plan --help"},
		{"plan x --output", "plan: flag needs an argument: --output", "tidemark plan --help"},
	} {
		var said strings.Builder
		code := run(append([]string{"tidemark"}, strings.Fields(test.command)...), strings.NewReader(""), io.Discard, &said)
		if code != 2 || !strings.Contains(said.String(), test.says) || !strings.Contains(said.String(), test.advises) {
			t.Errorf("tidemark %s: got code %d and\n%swant 2, %q and %q", test.command, code, said.String(), test.says, test.advises)
		}
	}
}

// Of the words that are put right none is a flag of ours everywhere, and each leads to one that some verb has.
func TestOtherWordsLeadToFlags(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	known := map[string]bool{}
	for _, command := range app.Commands {
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				known[name] = true
			}
		}
	}
	for _, other := range commandline.OtherWords {
		for ours := range strings.FieldsSeq(other.Ours) {
			if !known[ours] {
				t.Errorf("%q: no verb has --%s", other.Words, ours)
			}
		}
		if other.Ours == "" && other.Todo == "" {
			t.Errorf("%q lead nowhere", other.Words)
		}
	}
	for word, verb := range commandline.OtherVerbs {
		if app.Command(verb) == nil {
			t.Errorf("%s: there is no verb %s", word, verb)
		}
	}
}
