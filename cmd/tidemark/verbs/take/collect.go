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
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

func CollectCommand() *cli.Command {
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
		Flags: kit.WithTableFlags(
			&cli.StringFlag{Name: "service", Usage: "the service `FILE`"},
			&cli.StringFlag{Name: "since", Usage: "from `8d` ago on, or from an instant (default: where the file ends, at first 8d ago)"},
			&cli.StringFlag{Name: "until", Usage: "up to an `INSTANT` (default: a minute ago)"},
			&cli.StringFlag{Name: "prometheus-auth-file", Usage: "`FILE` with a token, or with lines of user: and password:"},
			&cli.StringFlag{Name: "runs", Usage: "keep the file in `DIR`", Value: "runs"},
			&cli.BoolFlag{Name: "fresh", Usage: "begin the file again; the old one stays beside it"},
		),
		Action: runCollect,
	}
}

func runCollect(c *cli.Context) error {
	if err := kit.NoArguments(c, "tidemark collect --service chat.yaml"); err != nil {
		return err
	}
	settings, err := collectSettings(c)
	if err != nil {
		return err
	}
	result, err := collect.Run(c.Context, settings)
	for _, note := range result.Notes {
		kit.Tell(c, "collect: %s", note)
	}
	switch {
	case err != nil:
		return err
	case result.From.IsZero():
		kit.Tell(c, "%s: nothing was missing up to %s", result.Path, settings.Until.Format(time.RFC3339))
	default:
		kit.Tell(c, "%s: asked for %s to %s, in %s; %s", result.Path, result.From.Format(time.RFC3339), result.Until.Format(time.RFC3339),
			show.Things(result.Requests, "request", "requests"), show.Things(result.Series, "series", "series"))
	}
	// The page of the service finds it by this name.
	err = kit.WithWarehouse(c.Context, c, warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		results, err := ingest.Load(ctx, w, []string{result.Path}, ingest.Options{Format: "prometheus-collected", Name: settings.Service + ".prometheus"})
		for _, one := range results {
			tellIngested(c, one)
		}
		if printErr := printIngested(c, results); printErr != nil {
			return printErr
		}
		return err
	})
	if err != nil {
		return hint.Errorf("%s was not ingested: %w", result.Path, err).Hint("tidemark ingest %s%s", result.Path, kit.WarehouseWords(c))
	}
	return nil
}

// collectSettings reads flags, service file and environment.
func collectSettings(c *cli.Context) (s collect.Settings, err error) {
	if err := kit.RequireFlags(c, "service"); err != nil {
		return s, err
	}
	file, err := service.Read(c.String("service"))
	if err != nil {
		return s, err
	}
	if file.Metrics == "" {
		return s, hint.Misuse("collect: %s names no server", file.Path).Hint("metrics: http://prometheus:9090")
	}
	s = collect.Settings{
		Service: file.Service, URL: file.Metrics, Selector: file.MetricsSelector, Path: filepath.Join(c.String("runs"), file.Service+".prometheus.jsonl"),
		IsFresh: c.Bool("fresh"), Version: kit.Version,
	}
	now := time.Now()
	s.Until = now.Add(-time.Minute) // the last scrape may not be there yet
	for _, flag := range []struct {
		name string
		at   *time.Time
	}{{"since", &s.Since}, {"until", &s.Until}} {
		text := c.String(flag.name)
		if text == "" {
			continue
		}
		at, ok := InstantOf(text, now, file.Zone)
		if !ok {
			return s, hint.Misuse("collect: --%s %s: neither a time ago nor an instant", flag.name, text).Hint("write it like 8d, 36h, 2026-11-16 or 2026-11-16T09:00:00Z")
		}
		*flag.at = at
	}
	if s.Until.After(now) {
		return s, hint.Misuse("collect: --until %s is in the future: nothing is known of it yet", c.String("until")).Hint("leave it out: collect asks up to now")
	}
	if !s.Since.IsZero() && !s.Since.Before(s.Until) {
		return s, hint.Misuse("collect: --since is not before --until").Hint("--since 8d")
	}
	s.Auth, err = collect.ReadAuth(c.String("prometheus-auth-file"), collect.Environment)
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
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}
