package main

// The verb demo walks through the whole program on built-in data: it writes a trace and
// what a Prometheus knows of four weeks of a service, starts a simulated vLLM in this
// process, ingests, replays and reports the run and the week. Each step runs the verb itself with a command line that
// is printed, so that a newcomer can copy it. The demo therefore shows nothing that a
// user could not do.
//
// A laptop that is busy with something else sends late, which makes a run invalid. The
// demo tries once more and then ends with the report and a warning, because a first
// contact should not fail for that reason. Every other error ends it.
//
// It should take under a minute: so only the last step publishes, and what is sent is not the whole trace.
//
// Exit codes: 0 with both pages, also on a busy machine; 4 for anything that went wrong.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/fixtures"
	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/vllmsim"
	"tidemark/replay/experiment"
)

func demoCommand() *cli.Command {
	d := &demo{}
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole journey on built-in data, ending in two reports",
		Description: `Twenty seconds of made-up chat traffic against a simulated H100 with
Llama-3.1-8B: a trace is ingested, replayed over HTTP and reported. Beside it
four weeks of a service, with the Monday report of the last one.

Example:
  tidemark demo --output demo`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "work in `DIR`, which must not exist or be empty", Value: "tidemark-demo", Destination: &d.dir},
			d.QuietFlag(),
		},
		Action: d.Do(d.run),
	}
}

// run goes through the steps that a user would take, with the verbs themselves.
// A busy machine does not fail the demo: it ends with the pages, which say so,
// and with last lines that say so too.
func (d *demo) run() error {
	if err := emptyFolder(d.dir); err != nil {
		return err
	}
	if err := d.writeInputs(); err != nil {
		return err
	}
	config, err := send.SimulatorOf(d.Context, send.DemoDeployment)
	if err != nil {
		return err
	}
	server, url, err := startServer(config)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := d.step("ingest", d.path("demo-chat.jsonl"), d.path(demoMetrics)); err != nil {
		return err
	}
	busy, err := d.play(url)
	if err != nil {
		return err
	}
	if _, err := d.step("report", "--service", d.path("demo-chat.yaml"), "--week", seeded.DemoWeek, "--output", d.path("monday.html")); err != nil {
		return err
	}
	fmt.Fprintf(d.App.Writer, "runs in %s, a warehouse: %s sql --warehouse %s \"from marts.runs\"\n", d.path("runs"), program(), d.path("tidemark.duckdb"))
	fmt.Fprintf(d.App.Writer, "open in a browser: %s (the run) and %s (the week of a service)\n", d.path("report.html"), d.path("monday.html"))
	if busy != "" {
		fmt.Fprintf(d.App.Writer, "this machine was too busy to measure on, so do not trust the figures of the run: %s\nonce it is quiet: %s demo --output another-folder\n", busy, program())
	}
	return nil
}

// demo is one pass through the steps, in a folder.
type demo struct {
	kit.Call
	dir string
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// writeInputs writes what a user would have: a trace, weeks of metrics, a service file and its SLO.
func (d *demo) writeInputs() error {
	for name, text := range map[string][]byte{"demo-chat.jsonl": fixtures.Demo, "demo-chat.yaml": fixtures.DemoService, "slo.yaml": fixtures.DemoSLO} {
		if err := os.WriteFile(d.path(name), text, 0o644); err != nil {
			return err
		}
	}
	served, err := seeded.ReadServed(bytes.NewReader(fixtures.DemoServed))
	if err != nil {
		return err
	}
	file, err := os.Create(d.path(demoMetrics))
	if err != nil {
		return err
	}
	service := seeded.Demo()
	return errors.Join(service.WriteMetrics(file, "demo-chat", send.DemoDeployment.CatalogModel, seeded.DemoServers, served, service.Begin, seeded.DemoUntil()), file.Close())
}

// demoMetrics is the file that "tidemark collect" would have written.
const demoMetrics = "demo-chat.prometheus.jsonl"

// play sends the trace and reports. If this machine was too busy to send on time, it
// tries once more; busy is the reason if the second try was late too.
func (d *demo) play(url string) (busy string, err error) {
	replayed, err := d.replay(url, "demo")
	if err == nil && replayed.Outcome == experiment.Invalid {
		d.Tell("this machine was too busy to measure on; trying once more")
		replayed, err = d.replay(url, "demo-again")
	}
	if err != nil {
		return "", err
	}
	if replayed.Outcome == experiment.Invalid {
		busy = replayed.FirstLine
	}
	_, err = d.step("report", replayed.RunID, "--output", d.path("report.html"))
	return busy, err
}

// replay sends the trace.
func (d *demo) replay(url, name string) (experiment.Result, error) {
	return d.lateIsNoError(d.step("replay", "demo-chat", "--base-url", url, "--model", send.DemoDeployment.CatalogModel,
		"--duration", "20s", "--runs", d.path("runs"), "--name", name))
}

// lateIsNoError passes a run that is invalid because the client was late; any other
// invalid run is an error.
func (d *demo) lateIsNoError(result experiment.Result, err error) (experiment.Result, error) {
	var coded kit.ExitError
	if !errors.As(err, &coded) || coded.Code != kit.ExitInvalid {
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

// step runs a command line as the user would type it, in an app of its own, so that no value of another step stays in a flag. Nothing is published: nobody
// reads while the demo writes.
func (d *demo) step(args ...string) (experiment.Result, error) {
	app := d.Another(d.App.Reader, d.App.Writer, d.App.ErrWriter)
	args = append(args, "--warehouse", d.path("tidemark.duckdb"), "--publish", "off")
	if !d.Quiet {
		fmt.Fprintf(app.ErrWriter, "$ %s %s\n", program(), asTyped(args))
	}
	want := send.AskedFor(d.Context, time.Minute)
	err := app.RunContext(context.WithValue(d.Context, send.AskedKey{}, want), commandline.FlagsFirst(app, append([]string{"tidemark"}, args...)))
	return want.Result, err
}

// program is how this one is called here: tidemark where a shell finds it, else by its path.
func program() string {
	if _, err := exec.LookPath("tidemark"); err == nil {
		return "tidemark"
	}
	return os.Args[0]
}

// asTyped quotes what a shell would take apart.
func asTyped(args []string) string {
	typed := slices.Clone(args)
	for i, arg := range typed {
		if strings.ContainsAny(arg, " *$") {
			typed[i] = `"` + arg + `"`
		}
	}
	return strings.Join(typed, " ")
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
