package take

// The verb collect asks the Prometheus server of a service for what a week needs and ingests it. Package ingest/collect asks and
// keeps the growing file; this file reads the service file, the flags and the environment, and says what came.
//
// Nothing new is no error: a CronJob may run it as often as it likes. The warehouse is opened after the last question.
//
// Exit codes: 0; 2 for a service without metrics, a wrong selector or contradicting credentials; 4 where the server refuses or cannot be
// reached. What was answered before that is kept in the file, and is not asked again.

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week/service"
	"tidemark/ingest"
	"tidemark/ingest/collect"
	"tidemark/internal/cli/kit"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type collectFlags struct {
	kit.Call
	service, since, until, authFile, runs string
	fresh                                 bool
}

func CollectCommand() *cli.Command {
	f := &collectFlags{}
	return &cli.Command{
		Name:  "collect",
		Usage: "ask Prometheus for what the week of a service needs",
		Description: `Asks the server that the service file names (metrics, metrics_selector): requests,
tokens, running, waiting and the KV cache by the minute; lengths, TTFT, TPOT,
queue time and latency by the quarter of an hour; GPUs by five minutes where
DCGM's belong to the service. It asks for what its file lacks, and ingests that
file as one source. It reads TIDEMARK_PROMETHEUS_TOKEN, or
TIDEMARK_PROMETHEUS_USER and TIDEMARK_PROMETHEUS_PASSWORD.

Example:
  tidemark collect --service chat.yaml
  tidemark collect --service chat.yaml --since 35d --prometheus-auth-file token`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "service", Usage: "the service `FILE`", Destination: &f.service},
			&cli.StringFlag{Name: "since", Usage: "from `8d` ago on, or from an instant (default: where the file ends, at first 8d ago)", Destination: &f.since},
			&cli.StringFlag{Name: "until", Usage: "up to an `INSTANT` (default: a minute ago)", Destination: &f.until},
			&cli.StringFlag{Name: "prometheus-auth-file", Usage: "`FILE` with a token, or with lines of user: and password:", Destination: &f.authFile},
			&cli.StringFlag{Name: "runs", Usage: "keep the file in `DIR`", Value: "runs", Destination: &f.runs},
			&cli.BoolFlag{Name: "fresh", Usage: "begin the file again; the old one stays beside it", Destination: &f.fresh},
		),
		Action: f.Do(f.run),
	}
}

func (f *collectFlags) run() error {
	if err := f.NoArguments("tidemark collect --service chat.yaml"); err != nil {
		return err
	}
	settings, err := f.settings()
	if err != nil {
		return err
	}
	result, err := collect.Run(f.Context, settings)
	for _, note := range result.Notes {
		f.Tell("collect: %s", note)
	}
	switch {
	case err != nil:
		return err
	case result.From.IsZero():
		f.Tell("%s: nothing was missing up to %s%s", result.Path, settings.Until.Format(time.RFC3339), f.later())
	default:
		f.Tell("%s: asked for %s to %s%s, in %s; %s", result.Path, result.From.Format(time.RFC3339), result.Until.Format(time.RFC3339), f.later(),
			show.Things(result.Requests, "request", "requests"), show.Things(result.Series, "series", "series"))
	}
	// The page of the service finds it by this name.
	err = f.WithWarehouse(f.Context, warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		results, err := ingest.Load(ctx, w, []string{result.Path}, ingest.Options{Format: "prometheus-collected", Name: settings.Service + ".prometheus"})
		for _, one := range results {
			tellIngested(&f.Call, one, "")
		}
		if printErr := printIngested(&f.Call, results); printErr != nil {
			return printErr
		}
		return err
	})
	if err != nil {
		return hint.Errorf("%s was not ingested: %w", result.Path, err).Hint("tidemark ingest %s%s", escape.Shell(result.Path), f.WarehouseWords())
	}
	return nil
}

// later says that collect stops before now where the user has not said when.
func (f *collectFlags) later() string {
	if f.until != "" {
		return ""
	}
	return " (the minutes since then come with the next call)"
}

// settings reads flags, service file and environment.
func (f *collectFlags) settings() (s collect.Settings, err error) {
	if err := f.Require("service"); err != nil {
		return s, err
	}
	file, err := service.Read(f.service)
	if err != nil {
		return s, err
	}
	if file.Metrics == "" {
		return s, hint.Misuse("collect: %s names no server", file.Path).Hint("metrics: http://prometheus:9090")
	}
	s = collect.Settings{
		Service: file.Service, URL: file.Metrics, Selector: file.MetricsSelector, Path: filepath.Join(f.runs, file.Service+".prometheus.jsonl"),
		IsFresh: f.fresh, Version: kit.Version,
	}
	now := time.Now()
	s.Until = now.Add(-time.Minute) // the last scrape may not be there yet
	for _, flag := range []struct {
		name, text string
		at         *time.Time
	}{{"since", f.since, &s.Since}, {"until", f.until, &s.Until}} {
		if flag.text == "" {
			continue
		}
		at, ok := InstantOf(flag.text, now, file.Zone)
		if !ok {
			return s, hint.Misuse("collect: --%s %s: neither a time ago nor an instant", flag.name, flag.text).Hint("write it like 8d, 36h, 2026-11-16 or 2026-11-16T09:00:00Z")
		}
		*flag.at = at
	}
	if s.Until.After(now) {
		return s, hint.Misuse("collect: --until %s is in the future: nothing is known of it yet", f.until).Hint("leave it out: collect asks up to now")
	}
	if !s.Since.IsZero() && !s.Since.Before(s.Until) {
		return s, hint.Misuse("collect: --since is not before --until").Hint("--since 8d")
	}
	s.Auth, err = collect.ReadAuth(f.authFile, collect.Environment)
	return s, err
}

// InstantOf reads a time ago, such as 8d or 36h, a date, which is midnight of the zone, or an instant.
func InstantOf(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 1e4 {
			return now.Add(-time.Duration(n * 24 * float64(time.Hour))), true
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago), true
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		day = service.FirstInstant(day.Year(), day.Month(), day.Day(), zone)
		return day, true
	}
	at, err := show.ReadInstant(text)
	return at, err == nil
}
