package main

// The verb demo walks through the whole program on built-in data: it writes a trace,
// starts a simulated vLLM in this process, ingests, replays and reports. Each step
// runs the verb itself with a command line that is printed, so that a newcomer can copy
// it. The demo therefore shows nothing that a user could not do.
//
// A laptop that is busy with something else sends late, which makes a run invalid. The
// demo tries once more and then ends with the report and a warning, because a first
// contact should not fail for that reason. Every other error ends it.
//
// Exit codes: 0 with a report, also on a busy machine; 4 for anything that went wrong.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/fixtures"
	"tidemark/internal/commandline"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/vllmsim"
	"tidemark/replay/experiment"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole journey on built-in data, ending in a report",
		Description: `Half a minute of made-up chat traffic against a simulated H100 with
Llama-3.1-8B: a trace is ingested, replayed over HTTP and reported.

Example:
  tidemark demo --output demo`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "work in `DIR`, which must not exist or be empty", Value: "tidemark-demo"},
			quietFlag(),
		},
		Action: runDemo,
	}
}

// runDemo goes through the steps that a user would take, with the verbs themselves.
// A busy machine does not fail the demo: it ends with the report, which says so,
// and with a last line that says so too.
func runDemo(c *cli.Context) error {
	dir := c.String("output")
	if err := emptyFolder(dir); err != nil {
		return err
	}
	trace := filepath.Join(dir, "demo-chat.jsonl")
	if err := os.WriteFile(trace, fixtures.Demo, 0o644); err != nil {
		return err
	}
	config, err := simulatorOf(c.Context, demoDeployment)
	if err != nil {
		return err
	}
	server, url, err := startServer(config)
	if err != nil {
		return err
	}
	defer server.Close()
	busy, err := demo{c, dir}.play(trace, url)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "made %s (open it in a browser), a run in %s and a warehouse: tidemark sql --warehouse %s \"from marts.runs\"\n",
		filepath.Join(dir, "report.html"), filepath.Join(dir, "runs"), filepath.Join(dir, "tidemark.duckdb"))
	if busy != "" {
		fmt.Fprintf(c.App.Writer, "this machine was too busy to measure on, do not trust the figures: %s\n", busy)
	}
	return nil
}

// demo is one pass through the steps, in a folder.
type demo struct {
	c   *cli.Context
	dir string
}

// play ingests the trace, sends it and reports. If this machine was too busy to
// send on time, it tries once more; busy is the reason if the second try was late
// too.
func (d demo) play(trace, url string) (busy string, err error) {
	if _, err := d.step("ingest", trace); err != nil {
		return "", err
	}
	replayed, err := d.replay(url, "demo")
	if err == nil && replayed.Outcome == experiment.Invalid {
		tell(d.c, "this machine was too busy to measure on; trying once more")
		replayed, err = d.replay(url, "demo-again")
	}
	if err != nil {
		return "", err
	}
	if replayed.Outcome == experiment.Invalid {
		busy = replayed.FirstLine
	}
	_, err = d.step("report", replayed.RunID, "--output", filepath.Join(d.dir, "report.html"))
	return busy, err
}

// replay sends the trace. A run that is invalid because the client was late is not
// an error here; any other invalid run is.
func (d demo) replay(url, name string) (experiment.Result, error) {
	result, err := d.step("replay", "demo-chat", "--base-url", url, "--model", demoDeployment.CatalogModel,
		"--runs", filepath.Join(d.dir, "runs"), "--name", name)
	var coded exitError
	if !errors.As(err, &coded) || coded.code != exitInvalid {
		return result, err
	}
	wasLate, ferr := wasLate(filepath.Join(d.dir, "runs", result.RunID))
	if wasLate {
		err = nil
	}
	return result, errors.Join(err, ferr)
}

// wasLate reports that an invalid run ended as planned and lacked no resource: then
// its client was late.
func wasLate(folder string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err != nil {
		return false, err
	}
	var run struct {
		Status string `json:"status"`
		Result struct {
			IsValid     bool   `json:"is_valid"`
			ClientLimit string `json:"client_limit"`
		} `json:"result"`
	}
	err = json.Unmarshal(text, &run)
	return run.Status == "done" && !run.Result.IsValid && run.Result.ClientLimit == "", err
}

// step runs a command line as the user would type it.
func (d demo) step(args ...string) (experiment.Result, error) {
	args = append(args, "--warehouse", filepath.Join(d.dir, "tidemark.duckdb"))
	tell(d.c, "$ tidemark %s", strings.Join(args, " "))
	want := &asked{sent: func(string) error { return nil }, wait: time.Minute}
	ctx := context.WithValue(d.c.Context, askedKey{}, want)
	err := d.c.App.RunContext(ctx, commandline.FlagsFirst(d.c.App, append([]string{"tidemark"}, args...)))
	return want.result, err
}

// demoDeployment is a single H100 with an 8B model, the most common small one.
var demoDeployment = deployment.Deployment{
	GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Engine: "vllm",
}

// startServer serves a simulator on a free loopback port.
func startServer(config vllmsim.Config) (*vllmsim.Server, string, error) {
	server, err := vllmsim.New(config)
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	go server.Serve(listener)
	return server, "http://" + listener.Addr().String(), nil
}

// emptyFolder makes the folder, and refuses to mix the demo with files that are there.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(dir, 0o755)
	case err != nil:
		return err
	case len(entries) > 0:
		return hint.Errorf("demo: %s is there already and not empty", dir).Hint("remove it, or say --output DIR")
	}
	return nil
}
