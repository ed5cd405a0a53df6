//go:build duckdb_arrow && examples

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// exampleNeeds is what an example wants to find, by its first words, and what keeps it short. The rest is as the help prints it.
var exampleNeeds = map[string]struct {
	before    string // a shell's command
	extra     string // further flags
	elsewhere string // the test that plays this example; it is not run here
	forever   bool   // it serves until it is interrupted
}{
	"demo":                 {elsewhere: "TestWhatTheDemoPrintsCanBeTyped"},
	"collect":              {elsewhere: "the script collect"},
	"report --output":      {extra: "monday"},
	"report --service":     {elsewhere: "the script week"},
	"study":                {extra: "--print"}, // ten minutes of a processor; the scripts study and study-imported run small ones
	"drift":                {elsewhere: "TestDriftTellsTheSystemFromTheWorkload"},
	"compare may.json":     {elsewhere: "the script study-tools"},
	"replay gtc-multiturn": {extra: "--mode open --limit 2 --steps 3"},
	"capacity azure-conv --slo slo.yaml --from": {extra: "--budget 3s"},
	"simulate":          {extra: "--port 0", forever: true},
	"serve":             {before: "TIDEMARK_PUBLISH= tidemark warehouse publish", extra: "--port 0 --published tidemark.published", forever: true},
	"warehouse publish": {extra: "--publish tidemark.published"},
	"ingest log.csv":    {before: `printf 'when,in,out\n0,10,5\n20,12,7\n' > log.csv`},
	"predict --points":  {before: `printf 'gpu,model,concurrency,input_len,output_len\nH100,llama-3.1-8b,8,500,50\n' > points.csv`},
	"warehouse upgrade": {before: "cp tidemark.duckdb fleet.duckdb"},
	"calibrate":         {elsewhere: "the script calibrate: it wants runs of a real server"},
}

// Every example of the help is typed as it stands there, one after the other in one folder, on a small trace and a simulated server. None may be
// misunderstood (exit code 2) or lack something (4); a verdict is an answer.
func TestExamplesOfTheHelpRun(t *testing.T) {
	results := must.Get(os.ReadFile("../../fixtures/results/vllm-2026.json"))(t)
	t.Chdir(t.TempDir())
	t.Setenv("TIDEMARK_PUBLISH", "off")
	config := must.Get(simulated())(t)
	config.Model = "llama"
	server, url, err := startServer(config)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	runID := readyForExamples(t, url, string(results))
	named := strings.NewReplacer("http://gpu1:8000", url, " RUN", " "+runID, "20261121-101500-busy 20261121-103000-idle", runID)
	found := 0
	for _, command := range newApp(nil, io.Discard, io.Discard).Commands {
		examples := slices.DeleteFunc(examplesOf(command), func(example string) bool {
			return !strings.Contains(example, "tidemark "+command.Name) // what is done with the verb's answer in another program
		})
		found += len(examples)
		t.Run(command.Name, func(t *testing.T) {
			for _, example := range examples {
				playExample(t, example, named)
			}
		})
	}
	if found < 40 {
		t.Errorf("%d examples found", found)
	}
}

// examplesOf are the commands under Example in a verb's help, each in one line.
func examplesOf(command *cli.Command) (examples []string) {
	_, below, _ := strings.Cut(command.Description, "\nExample")
	if strings.HasPrefix(command.Description, "Example") {
		below = command.Description
	}
	if strings.HasPrefix(below, " file:") {
		_, below, _ = strings.Cut(below, "\nExample")
	}
	_, below, _ = strings.Cut(below, "\n")
	for line := range strings.SplitSeq(strings.ReplaceAll(below, "\\\n", ""), "\n") {
		if strings.HasPrefix(line, "  ") {
			examples = append(examples, strings.TrimSpace(line))
		}
	}
	return examples
}

// readyForExamples makes the files, sources and runs that the examples name.
func readyForExamples(t *testing.T, url, results string) (runID string) {
	t.Helper()
	var trace strings.Builder
	trace.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for minute := 0; minute <= 20; minute += 10 { // nothing between them, so that ten minutes of it take two seconds
		for tenth := range 20 {
			fmt.Fprintf(&trace, "2023-11-16 18:%02d:%02d.%d000000,%d,5\n", 15+minute, tenth/10, tenth%10, 100+tenth)
		}
	}
	files := map[string]string{
		"week-47/row-A.json":              results,
		"week-47/hardware.md":             "# Hardware\n\n- GPU: H100\n",
		"serve.json":                      results + "\n",
		"AzureLLMInferenceTrace_code.csv": trace.String(),
		"AzureLLMInferenceTrace_conv.csv": strings.ReplaceAll(trace.String(), ",5\n", ",6\n"),
		"slo.yaml":                        "schema: tidemark.slo/2\nname: chat\nobjectives:\n  - {metric: tpot, percentile: 90, at_most: 1s}\n",
		"contract.yaml":                   "schema: tidemark.contract/1\nname: chat\nslo: slo.yaml\nshape: {source: azure-code, distance_at_most: 0.1}\ncost: {usd_per_gpu_hour: 2.9, usd_per_million_at_most: 2000}\n",
		"chat.yaml":                       "schema: tidemark.tune/1\nname: chat\ntraffic: azure-conv\nslo: slo.yaml\ndeployment: {gpu: H100, model: llama-3.1-8b}\nspace: {max_num_seqs: [64]}\n",
		"chat-rates.yaml": "schema: tidemark.experiment/1\nname: chat-rates\nhypothesis: the trace is light\nsend: azure-code\n" +
			"options: {base-url: \"" + url + "\", model: llama, limit: 3}\nvariable: speed\nrows: [1]\nslo: slo.yaml\n",
	}
	must.Do(t, os.Mkdir("week-47", 0o755))
	for name, text := range files {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	lines := []string{
		"tidemark ingest AzureLLMInferenceTrace_code.csv --name azure-code",
		"tidemark ingest AzureLLMInferenceTrace_conv.csv --name azure-conv",
		"tidemark ingest week-47",
		"tidemark ingest serve.json --name serve-1",
		"tidemark plan azure-code --limit 20 --output plan.jsonl.zst",
	}
	for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday"} {
		lines = append(lines, "tidemark rehearse plan.jsonl.zst --gpu H100 --catalog-model llama-3.1-8b --keep --name "+day+" --warehouse none/w.duckdb || true")
	}
	lines = append(lines, "take-in tidemark.duckdb runs/*")
	if out, err := exec.Command("sh", "-ec", strings.Join(lines, "\n")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runs, _ := filepath.Glob("runs/*")
	if len(runs) != 5 {
		t.Fatalf("%d runs", len(runs))
	}
	return filepath.Base(runs[0])
}

// playExample runs one example in a shell.
func playExample(t *testing.T, example string, named *strings.Replacer) {
	t.Helper()
	_, said, _ := strings.Cut(example, "tidemark ")
	best := ""
	for start := range exampleNeeds {
		if strings.HasPrefix(said+" ", start) && len(start) > len(best) {
			best = start
		}
	}
	needs := exampleNeeds[best]
	if needs.elsewhere != "" {
		return
	}
	typed := named.Replace(example)
	if command, file, isWritten := strings.Cut(typed, " > "); isWritten {
		typed = command + " " + needs.extra + " > " + file
	} else {
		typed += " " + needs.extra
	}
	if out, err := exec.Command("sh", "-c", needs.before).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", needs.before, err, out)
	}
	if needs.forever {
		serveExample(t, typed)
		return
	}
	out, err := exec.Command("sh", "-c", typed).CombinedOutput()
	code := 0
	if exit, is := err.(*exec.ExitError); is {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != 0 && code != kit.ExitNotMet && code != kit.ExitInvalid {
		t.Errorf("%s: exit code %d\n%s", typed, code, out)
	}
}

// serveExample interrupts a server as soon as it says its address.
func serveExample(t *testing.T, typed string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	assignment, rest, _ := strings.Cut(typed, "tidemark ")
	command := exec.CommandContext(ctx, "sh", "-c", assignment+"exec tidemark "+rest+" 2>&1")
	out := must.Get(command.StdoutPipe())(t)
	must.Do(t, command.Start())
	text := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if text += lines.Text() + "\n"; strings.Contains(text, "http://") {
			_ = command.Process.Signal(syscall.SIGINT)
		}
	}
	_ = command.Wait()
	if !strings.Contains(text, "http://") {
		t.Errorf("%s: never said its address:\n%s", typed, text)
	}
}
