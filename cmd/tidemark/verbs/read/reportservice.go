package read

// The Monday report: report --service FILE. Package analysis/week finds out, reports/week writes the page; this file reads the service file,
// stores the report, and puts the page and the summary where they are wanted. The warehouse is only read while the report is made, which can
// take minutes the first time, and opened to write for a moment at the end.
//
// Exit codes: 0; 1 where --fail-below-headroom is not reached (the page is written all the same); 2 for a service file that says what cannot be;
// 4 where the week has no data, or a file is missing or cannot be written.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week"
	"tidemark/analysis/week/service"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/serve/pages"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
	weekpage "tidemark/reports/week"
)

// serviceFlags are the flags of report that are about a service.
func (f *reportFlags) serviceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "service", Usage: "the Monday report of the service in `FILE`: does last week's traffic fit the GPUs that are paid for", Destination: &f.service},
		&cli.StringFlag{Name: "week", Usage: "of ISO week `2026-W47` in the service's time zone (default: the last week that the data cover to its end)", Destination: &f.week},
		&cli.StringFlag{Name: "summary", Usage: "write into `DIR` as well: summary.md, .txt and .html for mail, .slack.json, summary.json, three PNG", Destination: &f.summary},
		&cli.Float64Flag{Name: "fail-below-headroom", Usage: "exit 1 where the low end of the headroom is below `SHARE`: 0.1", Action: kit.Said(&f.failBelow)},
	}
}

func (f *reportFlags) ofService() error {
	if f.Args.Present() || len(f.source.Value()) > 0 {
		return hint.Misuse("report: --service is about a service, and not about runs or results").Hint("leave out the names of runs, and --source")
	}
	if f.slo != "" {
		return hint.Misuse("report: --service and --slo exclude each other").Hint("the service file names its SLO")
	}
	file, err := service.Read(f.service)
	if err != nil {
		return err
	}
	if f.output != "" || f.week != "" { // else the name is known with the week
		if f.output == "" {
			f.output = weekPage(file.Service, f.week)
		}
		if err := mayWrite(f.output, f.force); err != nil {
			return err
		}
	}
	if dir := f.summary; dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return hint.Errorf("report: --summary: %w", err).Hint("name a folder that can be written")
		}
	}
	if f.failBelow != nil && math.IsNaN(*f.failBelow) {
		return hint.Misuse("report: --fail-below-headroom: not a number").Hint("a share of what the traffic needs: 0.1 is ten per cent")
	}
	r, err := f.make(file)
	if err != nil {
		return err
	}
	if f.output == "" {
		f.output = weekPage(r.Service, r.Week)
	}
	var page bytes.Buffer
	if err := weekpage.Write(&page, r, weekpage.Options{GeneratedAt: pages.DateOf(r)}); err != nil {
		return err
	}
	if f.output == "-" {
		if _, err := terminal.Product(f.App.Writer).Write(page.Bytes()); err != nil {
			return err
		}
	} else if err := putPage(f.output, page.Bytes(), f.force); err != nil {
		return err
	}
	if err := writeSummary(f.summary, r); err != nil {
		return err
	}
	if f.output != "-" {
		fmt.Fprintln(terminal.Product(f.App.Writer), r.Sums.Sentence)
		f.Tell("report of %s, week %s, in %s: %s", r.Service, r.Week, f.output, f.shown())
	}
	return f.gate(r)
}

// weekPage is the name of a page that nobody named.
func weekPage(service, week string) string { return filepath.Base(service + "-" + week + ".html") }

// make makes the report from what can be read, and stores it.
func (f *reportFlags) make(file service.File) (r *week.Report, err error) {
	var kept *week.Kept
	told, end := f.Doing("report")
	err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		r, kept, err = week.Make(ctx, w.DB(), file, week.Options{Week: f.week, Version: kit.Version, Told: told})
		return err
	})
	end()
	if err != nil {
		return nil, err
	}
	r.Sums.Sentence = weekpage.Headline(r)
	return r, f.WithWarehouse(f.Context, warehouse.Update, func(ctx context.Context, w *warehouse.Warehouse) error {
		return week.Keep(ctx, w, file, r, kept)
	})
}

// writeSummary writes what is pasted into a chat, read by a dashboard, and looked at in a mail.
func writeSummary(dir string, r *week.Report) error {
	if dir == "" {
		return nil
	}
	json, err := weekpage.JSON(r)
	if err != nil {
		return err
	}
	slack, err := weekpage.SummarySlack(r)
	if err != nil {
		return err
	}
	pictures, err := weekpage.Pictures(r)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"summary.md": weekpage.Summary(r), "summary.txt": weekpage.SummaryText(r), "summary.html": weekpage.SummaryHTML(r),
		"summary.slack.json": slack, "summary.json": json} {
		err = errors.Join(err, userfile.WholeBytes(filepath.Join(dir, name), content))
	}
	for _, picture := range pictures {
		err = errors.Join(err, userfile.WholeBytes(filepath.Join(dir, picture.Name), picture.PNG))
	}
	return err
}

// gate is the exit code of --fail-below-headroom.
func (f *reportFlags) gate(r *week.Report) error {
	if f.failBelow == nil {
		return nil
	}
	wanted, low := *f.failBelow, r.Sums.LowHeadroom
	switch {
	case low == nil:
		return kit.ExitError{Code: kit.ExitNotMet, Err: fmt.Errorf("the headroom of %s in week %s is not known, and at least %s is wanted", r.Service, r.Week, show.Percent(wanted))}
	case !(*low >= wanted): // NaN is no share
		return kit.ExitError{Code: kit.ExitNotMet, Err: fmt.Errorf("the headroom of %s in week %s is %s at the capacity's low end%s, and at least %s is wanted",
			r.Service, r.Week, show.Percent(*low), atBusiest(r), show.Percent(wanted))}
	}
	return nil
}

// atBusiest is the hour that decides, with the replicas that were paid for in it.
func atBusiest(r *week.Report) string {
	for _, h := range r.Hours {
		if at := r.Sums.BusiestHourStart; at != nil && h.Start.Equal(*at) {
			return fmt.Sprintf(" (%s, with %s)", h.Local, show.Things(h.PaidReplicas, "replica", "replicas"))
		}
	}
	return ""
}

// putPage writes a file that is complete or absent. Where another one took the name since this command began, it stays unless replace is said.
func putPage(path string, content []byte, replace bool) error {
	if replace {
		return userfile.WholeBytes(path, content)
	}
	whole := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	defer os.Remove(whole)
	if err := userfile.WholeBytes(whole, content); err != nil {
		return err
	}
	if err := os.Link(whole, path); errors.Is(err, fs.ErrExist) {
		return mayWrite(path, false)
	} else if err != nil { // a file system without links
		return os.Rename(whole, path)
	}
	return nil
}
