package commandline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
)

// OtherWords maps flags of other tools (vllm bench serve, GuideLLM, AIPerf, vllm
// serve) and shorter words to ours. If there are several of ours, the first one
// that the verb has is meant. If it has none, Todo says what to do instead.
var OtherWords = []struct {
	Words string
	Ours  string
	Todo  string
}{
	{"tp tp-size tensor-parallel tensor-parallelism", "tensor-parallel-size", ""},
	{"ep ep-size expert-parallel enable-expert-parallel", "expert-parallel-size", ""},
	{"dp dp-size data-parallel", "data-parallel-size", ""},
	{"url target server server-url api-base api-url host endpoint-url u", "base-url", ""},
	{"rate qps rps requests-per-second", "request-rate arrival-rate", ""},
	{"concurrency concurrent clients users num-users streams max-in-flight", "max-concurrency concurrency", ""},
	{"max-concurrency", "concurrency", ""},
	{"num-prompts num-requests max-requests request-count requests prompts n", "limit", ""},
	{"random-input-len input-len input-length isl prompt-tokens prompt-len synthetic-input-tokens-mean", "input-tokens",
		"lengths are the source's, and never change by themselves: a profile draws other ones (tidemark profile --help)"},
	{"random-output-len output-len output-length osl max-tokens synthetic-output-tokens-mean", "output-tokens",
		"lengths are the source's, and never change by themselves: a profile draws other ones (tidemark profile --help)"},
	{"random-range-ratio random-prefix-len burstiness ramp-up-strategy", "",
		"lengths and arrivals are the source's: a profile draws other ones (tidemark profile --help)"},
	{"dataset dataset-name dataset-path data trace trace-file input-file source", "", "the source, profile or plan is named without a flag: tidemark VERB SOURCE"},
	{"goodput", "slo", ""},
	{"yes y assume-yes no-input", "", "VERB asks nothing: leave it out"},
	{"backend tokenizer trust-remote-code", "", "leave it out: any server that speaks OpenAI's API is asked in the same way, and prompts are token ids"},
	{"result-dir output-dir save-result result-filename save-path", "runs output", ""},
	{"o out output-file file output-path", "output", ""},
	{"served-model-name served-model", "model", ""},
	{"catalogue-model model-name model-id", "catalog-model model", ""},
	{"gpu-type gpu-name gpus device hardware", "gpu", ""},
	{"quant weights weight-format precision dtype", "quantization", ""},
	{"kv-dtype kv-cache kv-format kv-cache-format", "kv-cache-dtype", ""},
	{"max-seqs batch-size max-batch-size max-num-sequences", "max-num-seqs", ""},
	{"max-batched-tokens max-num-tokens", "max-num-batched-tokens", ""},
	{"max-len ctx context context-length max-context max-seq-len", "max-model-len", ""},
	{"gpu-memory-util mem-fraction mem-fraction-static utilization", "gpu-memory-utilization", ""},
	{"warmup warmup-time num-warmups", "warm-up", ""},
	{"timeout request-timeout", "first-byte-timeout", ""},
	{"max-seconds max-duration time test-time length", "duration", ""},
	{"start begin start-time", "from", ""},
	{"end to stop end-time", "until", ""},
	{"speedup time-scale scale rate-scale", "speed scale", ""},
	{"sample fraction subsample", "thin", ""},
	{"multiply clone", "thicken", ""},
	{"key api-key token", "api-key-file", ""},
	{"db database duckdb", "warehouse", ""},
	{"format", "json", ""},
}

// OtherVerbs does the same for verbs.
var OtherVerbs = map[string]string{
	"bench": "replay", "benchmark": "replay", "run": "replay", "send": "replay", "import": "ingest", "add": "ingest", "load": "ingest",
	"query": "sql", "mock": "simulate", "fake": "simulate", "estimate": "predict", "memory": "predict fit", "whatif": "what-if", "traces": "sources",
	"validate": "warehouse check", "list": "sources", "delete": "warehouse purge",
}

// unknownVerb suggests the verb that was meant.
func UnknownVerb(app *cli.App, verb string) error {
	var names []string
	for _, command := range app.Commands {
		names = append(names, command.Name)
	}
	wrong := hint.Misuse("no verb named %q", verb)
	if ours := OtherVerbs[strings.ToLower(verb)]; ours != "" {
		return wrong.Hint("did you mean %s?", ours)
	}
	if meant := hint.DidYouMean(names, verb); meant != "" {
		return wrong.Hint("%s", meant)
	}
	return wrong.Hint(`"tidemark help" lists the verbs`)
}

// The messages of Go's package flag, which urfave passes on. Its errors carry no type, so
// the text is all there is to tell them apart. A test fails if a new version of Go
// changes one.
var (
	noSuchFlag = regexp.MustCompile(`^flag provided but not defined: -(.+)$`)
	noValue    = regexp.MustCompile(`^flag needs an argument: -(.+)$`)
	wrongValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-+([^ :]+): .*$`)
)

// UsageErrorWithoutVerb is for flags without a verb.
func UsageErrorWithoutVerb(err error) error {
	if flag := noSuchFlag.FindStringSubmatch(err.Error()); flag != nil {
		return hint.Misuse("no flag --%s without a verb", flag[1]).Hint(`"tidemark help" lists the verbs`)
	}
	return hint.Misuse("%w", err)
}

// UsageError says what is wrong with a flag, and what may have been meant.
func UsageError(c *cli.Context, err error) error {
	verb := c.Command.Name
	switch said := err.Error(); {
	case noSuchFlag.MatchString(said):
		name := noSuchFlag.FindStringSubmatch(said)[1]
		if technique := hint.Unmodelled(name); technique != "" {
			return hint.Misuse("%s: --%s: %s is not modelled", verb, name, technique).Hint(hint.MeasureUnmodelled)
		}
		return hint.Misuse("%s: no flag --%s", verb, name).Hint("%s", meantFlag(c, name))
	case noValue.MatchString(said):
		return hint.Misuse("%s: flag needs an argument: --%s", verb, noValue.FindStringSubmatch(said)[1]).Hint("tidemark %s --help", verb)
	case wrongValue.MatchString(said):
		parts := wrongValue.FindStringSubmatch(said)
		return hint.Misuse("%s: --%s %s: %s", verb, parts[2], parts[1], wantedValue(c.Command, parts[2])).Hint("%s", valueHint(c.Command, parts[2], parts[1]))
	default:
		return hint.Misuse("%s: %w", verb, errors.New(said)).Hint("tidemark %s --help", verb)
	}
}

// meantFlag suggests our flag for another tool's word, a verb that has such a flag,
// or the most similar flag.
func meantFlag(c *cli.Context, wrong string) string {
	word := strings.ReplaceAll(strings.ToLower(wrong), "_", "-")
	has := func(name string) bool { return flagOf(c.Command, name) != nil }
	if has(word) {
		return "did you mean --" + word + "?"
	}
	for _, other := range OtherWords {
		if !slices.Contains(strings.Fields(other.Words), word) {
			continue
		}
		for ours := range strings.FieldsSeq(other.Ours) {
			if has(ours) {
				return "did you mean --" + ours + "?"
			}
		}
		if other.Todo != "" {
			return strings.Replace(other.Todo, "VERB", c.Command.Name, 1)
		}
	}
	var verbs, names []string
	for _, command := range c.App.Commands {
		if flagOf(command, word) != nil && command.Name != c.Command.Name {
			verbs = append(verbs, command.Name)
		}
	}
	for _, flag := range c.Command.Flags {
		names = append(names, "--"+flag.Names()[0])
	}
	meant := hint.DidYouMean(names, word)
	switch {
	case len(verbs) > 0 && len(verbs) <= 8:
		return fmt.Sprintf("--%s is a flag of %s; tidemark %s --help-all lists those of %s", word, strings.Join(verbs, ", "), c.Command.Name, c.Command.Name)
	case meant != "":
		return meant
	default:
		return "tidemark " + c.Command.Name + " --help"
	}
}

func flagOf(command *cli.Command, name string) cli.Flag {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

// wantedValue says what kind of value a flag takes.
func wantedValue(command *cli.Command, name string) string {
	switch flagOf(command, name).(type) {
	case *cli.DurationFlag:
		return "not a duration"
	case *cli.IntFlag, *cli.Int64Flag, *cli.Uint64Flag, *cli.IntSliceFlag, *cli.Int64SliceFlag:
		return "not a whole number"
	case *cli.Float64Flag, *cli.Float64SliceFlag:
		return "not a number"
	case *cli.BoolFlag:
		return "takes no value"
	default:
		return "not a value"
	}
}

func valueHint(command *cli.Command, name, value string) string {
	if _, is := flagOf(command, name).(*cli.DurationFlag); is {
		return hint.OfDuration(value)
	}
	return "tidemark " + command.Name + " --help"
}
