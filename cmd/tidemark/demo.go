package main

// The verb demo walks through the whole program on built-in data: it writes a trace and
// five weeks of a service, starts simulated vLLMs in this process, ingests, replays and
// reports the run and the week. Each step runs the verb itself with a command line that
// is printed, so that a newcomer can copy it. The demo therefore shows nothing that a
// user could not do.
//
// The two replays, of the trace and of thirty seconds out of the week's busiest five
// minutes, run at the same time, which saves half a minute. Neither is ingested before
// both have been sent, because an ingest beside a replay would make it late, and the
// slice only after the report of the trace: a warehouse has one writer.
//
// A laptop that is busy with something else sends late, which makes a run invalid. The
// demo tries once more and then ends with the report and a warning, because a first
// contact should not fail for that reason. Every other error ends it.
//
// Exit codes: 0 with both pages, also on a busy machine; 4 for anything that went wrong.

import (
	"bytes"
	"cmp"
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
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week/service"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/fixtures"
	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/vllmsim"
	"tidemark/replay/experiment"
)

func demoCommand() *cli.Command {
	d := &demo{}
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole journey on built-in data, ending in two reports",
		Description: `Half a minute of made-up chat traffic against a simulated H100 with
Llama-3.1-8B: a trace is ingested, replayed over HTTP and reported. Beside it
five weeks of a service, with the Monday report of the last one.

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
	urls, stop, err := startServers(d.Context, send.DemoDeployment, 1)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := d.step("ingest", d.path("demo-chat.jsonl"), d.path(demoWeeks[0]), d.path(demoWeeks[1])); err != nil {
		return err
	}
	slice, err := d.busiest()
	if err != nil {
		return err
	}
	defer slice.stop()
	slice.start()
	busy, err := d.play(urls[0], func() {
		select {
		case <-slice.sent:
		case <-d.Context.Done():
		}
	})
	late, sliceErr := slice.takeIn(err != nil)
	if err := errors.Join(err, sliceErr); err != nil {
		return err
	}
	if _, err := d.step("report", "--service", d.path("demo-chat.yaml"), "--week", seeded.DemoWeek, "--output", d.path("monday.html")); err != nil {
		return err
	}
	fmt.Fprintf(d.App.Writer, "runs in %s, a warehouse: %s sql --warehouse %s \"from marts.runs\"\n", d.path("runs"), program(), d.path("tidemark.duckdb"))
	fmt.Fprintf(d.App.Writer, "open in a browser: %s (the run) and %s (the week of a service)\n", d.path("report.html"), d.path("monday.html"))
	if reason := cmp.Or(busy, late); reason != "" {
		fmt.Fprintf(d.App.Writer, "this machine was too busy to measure on, so do not trust the figures of the run: %s\nonce it is quiet: %s demo --output another-folder\n", reason, program())
	}
	return nil
}

// demo is one pass through the steps, in a folder.
type demo struct {
	kit.Call
	dir string
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// writeInputs writes what a user would have: a trace, weeks of a gateway's log, a service file and its SLO.
func (d *demo) writeInputs() error {
	for name, text := range map[string][]byte{"demo-chat.jsonl": fixtures.Demo, "demo-chat.yaml": fixtures.DemoService, "slo.yaml": fixtures.DemoSLO} {
		if err := os.WriteFile(d.path(name), text, 0o644); err != nil {
			return err
		}
	}
	for i, part := range seeded.DemoParts() {
		file, err := os.Create(d.path(demoWeeks[i]))
		if err != nil {
			return err
		}
		if err := errors.Join(seeded.Demo().Write(file, part.From, part.Until), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// demoWeeks are the files of the service's weeks, which the service file names by their pattern.
var demoWeeks = [2]string{"demo-weeks-1.csv", "demo-weeks-2.csv"}

// play sends the trace and reports. If this machine was too busy to send on time, it
// tries once more; busy is the reason if the second try was late too. A run that was
// sent is ingested when sent returns.
func (d *demo) play(url string, sent func()) (busy string, err error) {
	replayed, err := d.replay(url, "demo", sent)
	if err == nil && replayed.Outcome == experiment.Invalid {
		d.Tell("this machine was too busy to measure on; trying once more")
		replayed, err = d.replay(url, "demo-again", sent)
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
func (d *demo) replay(url, name string, sent func()) (experiment.Result, error) {
	return d.lateIsNoError(d.stepIn(d.Context, d.app(), sent, "replay", "demo-chat", "--base-url", url, "--model", send.DemoDeployment.CatalogModel,
		"--runs", d.path("runs"), "--name", name))
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

// app is a command line of its own for a step, so that no value of another step stays in a flag.
func (d *demo) app() *cli.App { return d.Another(d.App.Reader, d.App.Writer, d.App.ErrWriter) }

// step runs a command line as the user would type it.
func (d *demo) step(args ...string) (experiment.Result, error) {
	return d.stepIn(d.Context, d.app(), func() {}, args...)
}

// stepIn runs it in an app of its own output; sent is called between the sending of a replay and its ingest.
func (d *demo) stepIn(ctx context.Context, app *cli.App, sent func(), args ...string) (experiment.Result, error) {
	args = append(args, "--warehouse", d.path("tidemark.duckdb"))
	if !d.Quiet {
		fmt.Fprintf(app.ErrWriter, "$ %s %s\n", program(), asTyped(args)) // before what it says, also where that is shown later
	}
	want := &send.Asked{Sent: func(string) error { sent(); return nil }, Wait: time.Minute}
	err := app.RunContext(context.WithValue(ctx, send.AskedKey{}, want), commandline.FlagsFirst(app, append([]string{"tidemark"}, args...)))
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

// demoSlice is a replay of thirty seconds of the service against as many simulated servers as it has replicas.
type demoSlice struct {
	*demo
	source, from string
	urls         []string
	model        string
	stop         func()

	cancel context.CancelFunc
	said   bytes.Buffer  // shown at the end, so that two replays do not write into each other's lines
	sent   chan struct{} // closed when nothing more is sent
	isFree chan struct{} // closed when the warehouse may be written
	ended  chan struct{}
	result experiment.Result
	err    error
}

// busiestMinutes of the demo's last week: five of them by the clock.
const busiestMinutes = `select source_name, strftime(make_timestamp(epoch_us(arrival_at) // 300_000_000 * 300_000_000), '%Y-%m-%dT%H:%M:%SZ') as starts_at, count(*) as requests ` +
	`from staging.trace_rows where source_name like 'demo-weeks-%' and arrival_at >= '2026-10-25 23:00:00+00' ` +
	`group by all order by requests desc, starts_at limit 1`

// busiest finds the busiest five minutes and starts the servers.
func (d *demo) busiest() (*demoSlice, error) {
	var answer bytes.Buffer
	if _, err := d.stepIn(d.Context, newApp(strings.NewReader(""), &answer, d.Messages()), func() {}, "sql", "--json", busiestMinutes); err != nil {
		return nil, err
	}
	var found []struct {
		Source   string `json:"source_name"`
		StartsAt string `json:"starts_at"`
	}
	if err := json.Unmarshal(answer.Bytes(), &found); err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("demo: %d busiest five minutes", len(found))
	}
	file, err := service.Read(d.path("demo-chat.yaml"))
	if err != nil {
		return nil, err
	}
	urls, stop, err := startServers(d.Context, file.Deployment, file.Replicas[0].Replicas)
	return &demoSlice{
		demo: d, source: found[0].Source, from: found[0].StartsAt, urls: urls, model: file.Deployment.CatalogModel, stop: stop,
		sent: make(chan struct{}), isFree: make(chan struct{}), ended: make(chan struct{}),
	}, err
}

// start sends the slice in the background. A Ctrl-C does not reach it: it goes on until takeIn, so that it is never
// ingested beside the other replay.
func (s *demoSlice) start() {
	args := []string{"replay", s.source, "--from", s.from, "--duration", "30s", "--model", s.model, "--runs", s.path("runs"), "--name", "thirty-busy-seconds"}
	for _, url := range s.urls {
		args = append(args, "--base-url", url)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context))
	s.cancel = cancel
	isSent := sync.OnceFunc(func() { close(s.sent) })
	go func() {
		defer close(s.ended)
		defer isSent() // also of a replay that failed before
		app := newApp(strings.NewReader(""), &s.said, &s.said)
		s.result, s.err = s.lateIsNoError(s.stepIn(ctx, app, func() { isSent(); <-s.isFree }, args...))
	}()
}

// takeIn lets the slice be ingested, at once where the demo has failed or was stopped, and shows what its replay said. late is
// the reason if this machine was too busy for it.
func (s *demoSlice) takeIn(hasFailed bool) (late string, err error) {
	if hasFailed {
		s.cancel()
	}
	close(s.isFree)
	<-s.ended
	s.cancel()
	s.Tell("at the same time, to save half a minute, thirty seconds of the service's week were sent:")
	s.Messages().Write(s.said.Bytes())
	if s.err == nil && s.result.Outcome == experiment.Invalid {
		late = s.result.FirstLine
	}
	return late, s.err
}

// startServers serves replicas of a deployment, each on a port of its own.
func startServers(ctx context.Context, d deployment.Deployment, replicas int) (urls []string, stop func(), err error) {
	config, err := send.SimulatorOf(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	config.MaxModelLen = d.MaxModelLen
	var servers []*vllmsim.Server
	stop = func() {
		for _, server := range servers {
			server.Close()
		}
	}
	for range replicas {
		server, url, err := startServer(config)
		if err != nil {
			stop()
			return nil, nil, err
		}
		servers, urls = append(servers, server), append(urls, url)
	}
	return urls, stop, nil
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
