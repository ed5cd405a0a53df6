package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/warehouse"
	"tidemark/replay"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "send a trace to a vLLM server, open loop; take the run in",
		ArgsUsage: "SOURCE | PLAN",
		Description: `Each request goes at its due time whether or not others have ended. The key
comes from $OPENAI_API_KEY or --api-key-file. First Ctrl-C: nothing more is
sent and streams are let finish; the second leaves at once. The run's folder
is whole either way.

Example:
  tidemark replay azure-code --duration 10m --base-url http://gpu1:8000 \
    --model llama --gpu H100 --catalog-model llama-3.1-8b`,
		Flags:  everywhere(slices.Concat(choiceFlags(), targetFlags(), environmentFlags())...),
		Action: runReplay,
	}
}

// targetFlags say where and how a plan is sent.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "base-url", Usage: "the server, as `http://host:port`"},
		&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves"},
		&cli.StringFlag{Name: "runs", Usage: "keep runs in `DIR`", Value: "runs"},
		&cli.StringFlag{Name: "name", Usage: "call the run `NAME`"},
		&cli.StringFlag{Name: "note", Usage: "`TEXT` that a reader of the run must know"},
		&cli.StringFlag{Name: "api-key-file", Usage: "read the API key from `FILE`"},
		&cli.StringSliceFlag{Name: "header", Usage: "send `\"Name: value\"` with each request"},
		&cli.StringFlag{Name: "metrics-url", Usage: "read the server's metrics from `URL` (default: its /metrics)"},
		&cli.DurationFlag{Name: "max-lateness", Usage: "a run whose p99 lateness is above `10ms` is invalid", Value: 10 * time.Millisecond},
		&cli.DurationFlag{Name: "max-stall", Usage: "a run in which this client itself stood still for `250ms` is invalid", Value: 250 * time.Millisecond},
		&cli.DurationFlag{Name: "first-byte-timeout", Usage: "give a request up after `5m` without an answer", Value: 5 * time.Minute},
		&cli.DurationFlag{Name: "between-bytes-timeout", Usage: "give a stream up after `1m` of silence", Value: time.Minute},
		&cli.IntFlag{Name: "vocab-size", Usage: "draw token ids below `N` (0: what the server says, else 8192)"},
	}
}

func runReplay(c *cli.Context) error {
	what, err := oneArgument(c, "source or plan")
	if err != nil {
		return err
	}
	if err := need(c, "base-url", "model"); err != nil {
		return err
	}
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	runID := newRunID(c.String("runs"), what)
	planPath, drop, err := planFor(c, what)
	if err != nil {
		return err
	}
	defer drop()
	settings.RunID = runID
	folder := filepath.Join(c.String("runs"), runID)
	sendErr := send(c, planPath, folder, settings)
	if _, err := os.Stat(filepath.Join(folder, "run.json")); err != nil {
		return sendErr // stopped before there was a run
	}
	err = conclude(c, folder, runID)
	if sendErr == nil {
		return err
	}
	// A run that stopped by itself was taken in too; why it stopped is the news.
	if exitCode(err) == exitInvalid {
		err = nil
	}
	return errors.Join(sendErr, err)
}

// send replays a plan into a folder.
func send(c *cli.Context, planPath, folder string, settings replay.Settings) error {
	plan, err := replay.OpenPlan(planPath)
	if err != nil {
		return err
	}
	h := plan.Header()
	tell(c, "sending %d requests in %s at %s/s to %s; seed %d", h.Requests,
		readableNumber("_s", h.DurationS), digits(h.MeanRatePerS), strings.Join(settings.BaseURLs, ", "), h.Seed)
	progress, end := progressLine(talk(c))
	settings.Progress = progress
	silent := context.AfterFunc(c.Context, func() {
		tell(c, "stopping: nothing more is sent, streams are let finish; Ctrl-C again leaves at once")
	})
	defer silent()
	_, err = replay.Run(c.Context, plan, settings, folder)
	end()
	return err
}

// conclude takes the run in, prints the verdict and gives the exit code.
func conclude(c *cli.Context, folder, runID string) error {
	if err := takeIn(c, folder); err != nil {
		return err
	}
	var verdict analysis.Verdict
	ctx := context.WithoutCancel(c.Context)
	err := withWarehouse(ctx, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		verdict, err = analysis.Judge(ctx, w.DB(), runID)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer, verdict.FirstLine())
	tell(c, "run in %s; see it: tidemark report %s --output report.html%s", folder, runID, warehouseWords(c))
	if !verdict.IsValid {
		return exitError{code: exitInvalid}
	}
	return nil
}

func settingsOf(c *cli.Context) (replay.Settings, error) {
	key, err := apiKey(c.String("api-key-file"))
	if err != nil {
		return replay.Settings{}, err
	}
	headers, err := headersOf(c.StringSlice("header"))
	if err != nil {
		return replay.Settings{}, err
	}
	environment, from, err := environmentOf(c)
	if err != nil {
		return replay.Settings{}, err
	}
	settings := replay.Settings{
		BaseURLs: []string{c.String("base-url")}, Model: c.String("model"), APIKey: key, Headers: headers,
		Name: c.String("name"), Note: c.String("note"), Version: version,
		Environment: environment, EnvironmentSource: from,
		MaxLateness: c.Duration("max-lateness"), MaxStall: c.Duration("max-stall"), FirstByteTimeout: c.Duration("first-byte-timeout"),
		BetweenBytesTimeout: c.Duration("between-bytes-timeout"), VocabHigh: c.Int("vocab-size"),
		Abort: hardStop(c.Context),
	}
	if address := c.String("metrics-url"); address != "" {
		settings.MetricsURLs = []string{address}
	}
	if err := settings.Check(); err != nil {
		return replay.Settings{}, exitError{exitMisuse, err}
	}
	return settings, nil
}

func headersOf(lines []string) (http.Header, error) {
	headers := http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, misuse("--header %q: no colon", name).hint(`--header "Name: value"`)
		}
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return headers, nil
}

func apiKey(path string) (string, error) {
	if path == "" {
		return os.Getenv("OPENAI_API_KEY"), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--api-key-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// planFor is the plan file itself, or one drawn from a source into a temporary
// folder, which drop removes: the run keeps a copy.
func planFor(c *cli.Context, what string) (path string, drop func(), err error) {
	if _, err := os.Stat(what); err == nil && strings.HasSuffix(what, ".zst") {
		for _, flag := range []string{"from", "until", "duration", "speed", "thin", "thicken", "request-rate", "limit", "max-model-len"} {
			if c.IsSet(flag) {
				return "", nil, misuse("replay: --%s chooses from a source; %s is a plan already", flag, what)
			}
		}
		return what, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "tidemark-plan-")
	if err != nil {
		return "", nil, err
	}
	drop = func() { os.RemoveAll(folder) }
	path = filepath.Join(folder, "plan.jsonl.zst")
	if _, err := writePlan(c, what, path); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}

var notInID = regexp.MustCompile(`[^a-z0-9-]+`)

// newRunID is the instant and what is sent: "20261121-093000-azure-code", with
// a number behind it where that is taken.
func newRunID(runs, what string) string {
	stem := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(what), ".zst"), ".jsonl"))
	stem = strings.Trim(notInID.ReplaceAllString(stem, "-"), "-")
	base := time.Now().UTC().Format("20060102-150405") + "-" + stem
	id := base
	for n := 2; ; n++ {
		// Any error is as good as "not there": making the folder names it.
		if _, err := os.Stat(filepath.Join(runs, id)); err != nil {
			return id
		}
		id = fmt.Sprintf("%s-%d", base, n)
	}
}

// progressLine rewrites one line on a terminal and is silent elsewhere.
func progressLine(w io.Writer) (show func(replay.Progress), end func()) {
	if !isTerminal(w) {
		return func(replay.Progress) {}, func() {}
	}
	return func(p replay.Progress) {
			// A line that wraps could not be rewritten.
			text := progressText(p)
			fmt.Fprintf(w, "\r\x1b[K%s", text[:min(len(text), terminalWidth(w)-1)])
		},
		func() { fmt.Fprint(w, "\r\x1b[K") }
}

func progressText(p replay.Progress) string {
	text := fmt.Sprintf("%s/%s  sent %d/%d  open %d  failed %d  late %s  %s tok/s",
		p.Elapsed.Round(time.Second), p.PlanDuration.Round(time.Second), p.Sent, p.Planned, p.InFlight, p.Failed,
		readableNumber("_s", p.LateP99.Seconds()), digits(p.OutputTokensPer))
	if p.TPOT > 0 {
		text += "  TPOT " + readableNumber("_s", p.TPOT.Seconds())
	}
	return text
}
