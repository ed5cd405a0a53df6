package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// Each kind of mistake has one exit code, whichever verb finds it.
func TestAMistakeHasOneExitCodeInEveryVerb(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"trace.csv":       "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-16 18:17:03.9799600,480,10\n2026-11-16 18:17:04.0000000,12,3\n",
		"broken-slo.yaml": "schema: tidemark.slo/1\nname: x\nobjectives: [{metric: speed, percentile: 99, at_most: 1s}]\n",
		"broken-exp.yaml": "schema: tidemark.experiment/1\nname: x\nfrobnicate: 1\n",
		"broken-pro.yaml": "schema: tidemark.profile/1\nname: x\nfrobnicate: 1\n",
		"broken-env.json": `{"gpu": "H100", "frobnicate": 1}`,
		"broken-pts.csv":  "gpu,gpu\nH100,H100\n",
		"broken-ser.yaml": "service: chat\nfrobnicate: 1\n",
		"steps.log":       "INFO 01-01 00:00:00 [core.py:1] Iteration(1): 1 context requests, 2 context tokens, 0 generation requests, 0 generation tokens, iteration elapsed time: 1 ms\n",
		"service.yaml":    "service: chat\ntime_zone: UTC\nmetrics: http://127.0.0.1:1\ndeployment: {gpu: H100, model: llama-3.1-8b}\nreplicas: 1\nslo: slo.yaml\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	must.Do(t, os.Mkdir("folder.yaml", 0o700))
	codeOf(t, "ingest trace.csv --quiet")

	const send = "--base-url http://127.0.0.1:1 --model m "
	const pod = "--image i --claim c --start-at 2030-01-01T00:00:00Z --base-url http://127.0.0.1:1 --model m "
	const deployment = "--gpu H100 --catalog-model llama-3.1-8b "
	for _, c := range []struct {
		mistake string
		code    int
		lines   []string
	}{
		{"a file that is missing", kit.ExitFailed, []string{
			"ingest nothing.csv",
			"collect --service nothing.yaml",
			"drift nothing.yaml",
			"collect --service service.yaml --prometheus-auth-file nothing",
			"replay trace " + send + "--slo nothing.yaml",
			"replay trace " + send + "--environment nothing.json",
			"replay trace " + send + "--api-key-file nothing",
			"replay nothing.jsonl.zst " + send,
			"plan nothing.yaml --output p.jsonl.zst",
			"experiment nothing.yaml",
			"tune --rehearsed nothing.yaml",
			"study nothing.yaml",
			"predict --points nothing.csv",
			"predict --gpu H100 --catalog-model ./nothing/config.json --concurrency 1 --input-tokens 10 --output-tokens 10",
			"predict kv --catalog-model ./nothing/config.json",
			"predict fit --gpu H100 --catalog-model ./nothing/config.json --tokens 100",
			"what-if trace " + deployment + "--slo nothing.yaml",
			"runs trace --slo nothing.yaml",
			"decide a --reason x --contract nothing.yaml",
			"decide a --reason x --warehouse nothing.duckdb",
			"ingest trace.csv --environment nothing.json",
			"compare a b --warehouse nothing.duckdb",
			"profile show nothing.yaml",
			"privacy check nothing.jsonl.zst",
			"sql 'select 1' --warehouse nothing.duckdb",
			"sources --warehouse nothing.duckdb",
			"runs --warehouse nothing.duckdb",
			"report --warehouse nothing.duckdb --output r.html",
			"diagnose x --warehouse nothing.duckdb",
			"lint --warehouse nothing.duckdb",
			"warehouse check --warehouse nothing.duckdb",
			"schema --warehouse nothing.duckdb",
			"export x --output o --warehouse nothing.duckdb",
			"warehouse purge --before 2026-01-01 --warehouse nothing.duckdb",
			"calibrate x --warehouse nothing.duckdb",
			"k8s manifest p.jsonl.zst " + pod + "--slo nothing.yaml",
			"serve --no-token --published nothing",
			"serve --token-file nothing",
		}},
		{"a folder in the place of a file", kit.ExitFailed, []string{
			"replay trace " + send + "--slo folder.yaml",
			"replay trace " + send + "--environment folder.yaml",
			"replay trace " + send + "--api-key-file folder.yaml",
			"experiment folder.yaml",
			"predict --points folder.yaml",
			"what-if trace " + deployment + "--slo folder.yaml",
			"profile show folder.yaml",
			"sql 'select 1' --warehouse folder.yaml",
		}},
		{"a flag that does not exist", kit.ExitMisuse, everyVerb("--frobnicate 1")},
		{"a key that does not exist, in a file", kit.ExitMisuse, []string{
			"replay trace " + send + "--slo broken-slo.yaml",
			"collect --service broken-ser.yaml",
			"drift broken-ser.yaml",
			"replay trace " + send + "--environment broken-env.json",
			"what-if trace " + deployment + "--slo broken-slo.yaml",
			"runs trace --slo broken-slo.yaml",
			"decide a --reason x --contract broken-slo.yaml",
			"ingest trace.csv --environment broken-env.json",
			"experiment broken-exp.yaml",
			"tune --rehearsed broken-exp.yaml",
			"study broken-exp.yaml",
			"profile show broken-pro.yaml",
			"plan broken-pro.yaml --output p.jsonl.zst",
			"predict --points broken-pts.csv",
		}},
		{"a value that cannot be meant", kit.ExitMisuse, []string{
			"ingest trace.csv --format frobnicate",
			"ingest steps.log --run frobnicate",
			"collect --service service.yaml --since frobnicate",
			"drift service.yaml --weeks 1",
			"collect --service service.yaml --since 1d --until 2d",
			"collect --service service.yaml --until 2100-01-01",
			"ingest trace.csv --max-rejected 2",
			"plan trace --output p.jsonl.zst --speed 0",
			"plan trace --output p.jsonl.zst --from yesterday",
			"replay trace " + send + "--mode frobnicate",
			"replay trace " + send + "--history answered --mode open",
			"rehearse trace " + deployment + "--history answered --mode open",
			"capacity trace " + deployment + "--slo slo.yaml --history answered --mode open",
			"replay p.jsonl.zst " + send + "--shard 8/8 --start-at 2030-01-01T00:00:00Z",
			"replay p.jsonl.zst " + send + "--shard 1/8 --start-at tomorrow",
			"replay p.jsonl.zst " + send + "--shard 1/8",
			"replay trace " + send + "--shard 1/8 --start-at 2030-01-01T00:00:00Z",
			"k8s manifest p.jsonl.zst " + pod + "--shards 0",
			"replay trace --base-url frobnicate --model m",
			"replay trace " + send + "--header frobnicate",
			"predict " + deployment + "--tensor-parallel-size 3 --concurrency 1 --input-tokens 10 --output-tokens 10",
			"predict " + deployment + "--concurrency 0 --input-tokens 10 --output-tokens 10",
			"predict fit " + deployment + "--tokens -1",
			"predict kv --catalog-model llama-3.1-8b --tokens -1",
			"predict queue --arrival-rate -1 --service-time 1s --servers 1",
			"what-if trace " + deployment + "--tensor-parallel-size 0",
			"privacy export trace --output x.jsonl --k 1",
			"warehouse purge --before yesterday",
			"sql 'select'",
			"simulate " + deployment + "--port 700000",
			"serve --no-token --port 700000",
			"serve --no-token --host 0.0.0.0",
			"serve --no-token --memory much",
			"serve --no-token --published s3://",
			"warehouse publish --publish s3://Not-A-Bucket",
			"ingest trace.csv --publish s3://traffic/?frobnicate=1",
			"compare a b --fail-if-worse 5",
			"compare a b --fail-if-worse 0%",
			"compare a b --fail-if-worse 5% --metrics p98_ttft",
			"compare a b --metrics p99_ttft",
			"profile fit --input-tokens p50=x --output-tokens p50=1 --output f.yaml",
		}},
		{"a name that nothing has", kit.ExitMisuse, []string{
			"sources nothing",
			"plan nothing --output p.jsonl.zst",
			"replay nothing " + send,
			"what-if nothing " + deployment,
			"runs nothing",
			"diagnose nothing",
			"lint nothing",
			"report nothing --output r.html",
			"report --source nothing --output r.html",
			"compare nothing nothing-else",
			"decide nothing --reason x",
			"export nothing --output o",
			"calibrate nothing",
			"schema marts.nothing",
			"sql 'from marts.nothing'",
			"sql --example nothing",
			"sql --examples 'select 1'",
			"sql --line --json 'select 1'",
			"privacy check nothing",
			"privacy export nothing --output x.jsonl",
			"profile show nothing",
			"predict --gpu H1000 --catalog-model llama-3.1-8b --concurrency 1 --input-tokens 10 --output-tokens 10",
			"predict --gpu H100 --catalog-model nothing --concurrency 1 --input-tokens 10 --output-tokens 10",
			"predict fit --gpu H1000 --catalog-model llama-3.1-8b --tokens 100",
			"predict kv --catalog-model nothing",
			"simulate --gpu H1000 --catalog-model llama-3.1-8b",
		}},
		{"an argument that is missing", kit.ExitMisuse, []string{
			"ingest", "collect", "plan", "replay", "experiment", "what-if", "compare", "decide", "export", "diagnose", "privacy export", "profile show", "warehouse purge",
		}},
	} {
		for _, line := range c.lines {
			if code, said := codeOf(t, line); code != c.code {
				t.Errorf("%s: tidemark %s: exit code %d, want %d; it said:\n%s", c.mistake, line, code, c.code, said)
			}
		}
	}
	if left, _ := filepath.Glob("*.zst"); len(left) > 0 {
		t.Errorf("mistakes left %v", left)
	}
}

func everyVerb(flag string) (lines []string) {
	for _, command := range newApp(nil, nil, nil).Commands {
		for _, sub := range command.Subcommands {
			lines = append(lines, command.Name+" "+sub.Name+" "+flag)
		}
		if len(command.Subcommands) == 0 {
			lines = append(lines, command.Name+" "+flag)
		}
	}
	return lines
}

// codeOf runs a command line in this process; quotes hold a query together.
func codeOf(t *testing.T, line string) (int, string) {
	t.Helper()
	args := []string{"tidemark"}
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	var said bytes.Buffer
	code := run(args, strings.NewReader(""), &said, &said)
	return code, said.String()
}
