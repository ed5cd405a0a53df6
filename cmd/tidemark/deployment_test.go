package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
)

// A verb that can be told the GPU can be told everything else about a deployment.
func TestEveryVerbTakesEveryField(t *testing.T) {
	for _, command := range newApp(nil, io.Discard, io.Discard).Commands {
		known := map[string]bool{}
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				known[name] = true
			}
		}
		if !known["gpu"] {
			continue
		}
		for _, f := range deployment.Fields {
			if !known[f.Flag] {
				t.Errorf("%s has no --%s", command.Name, f.Flag)
			}
		}
	}
}

// In every verb --model is the name that a server answers to; where no server is asked it is the old name of --catalog-model.
func TestModelHasOneMeaning(t *testing.T) {
	for _, command := range newApp(nil, io.Discard, io.Discard).Commands {
		for _, flag := range command.Flags {
			names := flag.Names()
			at := slices.Index(names, "model")
			served := at == 0 && strings.HasPrefix(flag.(*cli.StringFlag).Usage, "the `NAME` the server serves")
			if at >= 0 && !served && names[0] != "catalog-model" {
				t.Errorf("%s: --model stands for --%s: %s", command.Name, names[0], flag)
			}
		}
	}
	const load = " --concurrency 1 --input-tokens 10 --output-tokens 10 --csv"
	answer := func(flags string) (stdout, stderr string) {
		var out, said strings.Builder
		if code := run(strings.Fields("tidemark predict --gpu H100 "+flags+load), strings.NewReader(""), &out, &said); code != 0 {
			t.Errorf("predict %s: got code %d and\n%s", flags, code, said.String())
		}
		return out.String(), said.String()
	}
	now, _ := answer("--catalog-model llama-3.1-8b")
	old, told := answer("--model=llama-3.1-8b")
	if old != now || !strings.Contains(told, "predict --model is now --catalog-model") {
		t.Errorf("the old name gives\n%s%s\nwant\n%s", old, told, now)
	}
}

// Each kind of value that no deployment can have is named with its flag, before anything is asked or sent.
func TestAFlagOfADeploymentThatCannotBe(t *testing.T) {
	for command, says := range map[string]string{
		"predict --gpu H100 --catalog-model llama-3.1-8b --data-parallel-size 0":                    "--data-parallel-size: 0 is not a whole number of at least 1",
		"simulate --expert-parallel-size half":                                                      "--expert-parallel-size: half is not a number",
		"what-if x --gpu H100 --catalog-model llama-3.1-8b --gpu-memory-utilization 0.9,95":         "--gpu-memory-utilization 95: 95: at most 1 is possible",
		"replay x --base-url http://h:1 --model m --gpu H100 --catalog-model a --hbm-bandwidth 600": "--hbm-bandwidth: 600 is not a bandwidth",
		"replay x --base-url http://h:1 --model m --gpu H100 --catalog-model a --engine tgi":        "known are vllm, sglang, tensorrt-llm, openai",
		"plan x --gpu H100 --catalog-model llama-3.1-8b --engine-version newest":                    "--engine-version newest: no number in it",
	} {
		var said strings.Builder
		code := run(append([]string{"tidemark"}, strings.Fields(command)...), strings.NewReader(""), io.Discard, &said)
		if code != kit.ExitMisuse || !strings.Contains(said.String(), says) {
			t.Errorf("tidemark %s: got code %d and\n%swant %d and %q", command, code, said.String(), kit.ExitMisuse, says)
		}
	}
}
