package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/fixtures"
	"tidemark/internal/hint"
	"tidemark/internal/vllmsim"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole journey on built-in data, ending in a report",
		Description: `Half a minute of made-up chat traffic against a simulated H100 with
Llama-3.1-8B: a trace is taken in, replayed over HTTP and reported.

Example:
  tidemark demo --output demo`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "work in `DIR`, which must not exist or be empty", Value: "tidemark-demo"},
			quietFlag(),
		},
		Action: runDemo,
	}
}

// runDemo takes the steps that a user would take, by the verbs themselves.
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
	for _, step := range demoSteps(dir, trace, url) {
		tell(c, "$ tidemark %s", strings.Join(step, " "))
		err := c.App.RunContext(c.Context, flagsFirst(c.App, append([]string{"tidemark"}, step...)))
		var coded exitError
		if errors.As(err, &coded) && coded.code == exitInvalid {
			continue // this machine was too busy to send on time; the report says so in its first line
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(c.App.Writer, "made %s (open it in a browser), a run in %s and a warehouse: tidemark sql --warehouse %s \"from marts.runs\"\n",
		filepath.Join(dir, "report.html"), filepath.Join(dir, "runs"), filepath.Join(dir, "tidemark.duckdb"))
	return nil
}

func demoSteps(dir, trace, url string) [][]string {
	warehouse := []string{"--warehouse", filepath.Join(dir, "tidemark.duckdb")}
	return [][]string{
		append([]string{"ingest", trace}, warehouse...),
		append([]string{"replay", "demo-chat", "--base-url", url, "--model", demoDeployment.Model,
			"--runs", filepath.Join(dir, "runs"), "--name", "demo"}, warehouse...),
		append([]string{"report", "--output", filepath.Join(dir, "report.html")}, warehouse...),
	}
}

// demoDeployment is a single H100 with an 8B model, the most common small one.
var demoDeployment = analysis.Deployment{
	GPU: "H100", Model: "llama-3.1-8b", TensorParallelSize: 1, Engine: "vllm",
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
