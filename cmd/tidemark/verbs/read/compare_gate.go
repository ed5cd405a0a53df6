package read

// compare --fail-if-worse is a gate for CI: package gate decides, and this file writes the decision where a CI system reads it.
// Both files are opened before anything is computed, so that a night of measurements does not end in a path that cannot be written.

import (
	"context"
	"os"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/gate"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

type gateFlags struct {
	bound, metrics, junit, summary string
}

func (f *gateFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "fail-if-worse", Usage: "exit 1 where a metric is worse by more than `5%`", Destination: &f.bound},
		&cli.StringFlag{Name: "metrics", Usage: "with --fail-if-worse: judge `p99_ttft,mean_tpot` and so on, in place of seven", Destination: &f.metrics},
		&cli.StringFlag{Name: "junit", Usage: "with --fail-if-worse: write JUnit XML to `FILE`", Destination: &f.junit},
		&cli.StringFlag{Name: "summary", Usage: "with --fail-if-worse: append Markdown to `FILE`, as $GITHUB_STEP_SUMMARY wants", Destination: &f.summary},
	}
}

// gateFor is what the flags ask for; nil without --fail-if-worse.
func (f *compareFlags) gateFor() (*readyGate, error) {
	if !f.IsGiven("fail-if-worse") {
		if flag := f.Given("metrics", "junit", "summary"); flag != "" {
			return nil, hint.Misuse("compare: --%s is for a gate", flag).Hint("add --fail-if-worse 5%%")
		}
		return nil, nil
	}
	g := &readyGate{}
	var err error
	if g.question.Bound, err = gate.ParseBound(f.bound); err != nil {
		return nil, err
	}
	if f.IsGiven("metrics") && f.metrics == "" {
		return nil, hint.Misuse("compare: --metrics names none").Hint("leave it out for the seven of the help")
	}
	if g.question.Metrics, err = gate.ParseMetrics(f.metrics); err != nil {
		return nil, err
	}
	if f.junit != "" && f.junit == f.summary {
		return nil, hint.Misuse("compare: --junit and --summary name one file").Hint("one is XML and the other Markdown: name two")
	}
	if f.IsGiven("junit") {
		if g.junit, err = openProduct("junit", f.junit, os.O_TRUNC); err != nil {
			return nil, err
		}
	}
	if f.IsGiven("summary") {
		if g.summary, err = openProduct("summary", f.summary, os.O_APPEND); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func openProduct(flag, path string, how int) (*os.File, error) {
	if path == "" {
		return nil, hint.Misuse("compare: --%s names no file", flag).Hint("$GITHUB_STEP_SUMMARY is empty outside GitHub: leave the flag out there")
	}
	if path == "-" {
		return nil, hint.Misuse("compare: --%s -: stdout has the table", flag).Hint("name a file")
	}
	err := userfile.MayReplace(path)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o666); err == nil {
			return file, nil
		}
	}
	return nil, hint.Errorf("compare: --%s: %w", flag, err).Hint("name a file that can be written, in a folder that exists")
}

// readyGate is a gate whose files are open.
type readyGate struct {
	question       gate.Question
	junit, summary *os.File
}

// close removes a JUnit file that nothing was written to: no report is noticed, an empty or an old one may not be.
func (g *readyGate) close() {
	for _, file := range []*os.File{g.junit, g.summary} {
		if file == nil {
			continue
		}
		info, err := file.Stat()
		file.Close()
		if file == g.junit && err == nil && info.Size() == 0 {
			os.Remove(file.Name())
		}
	}
}

// decide writes the files too.
func (g *readyGate) decide(ctx context.Context, w *warehouse.Warehouse, comparison analysis.Comparison) (gate.Gate, error) {
	decision, err := gate.Judge(ctx, w.DB(), comparison, g.question)
	if err != nil {
		return decision, err
	}
	if g.junit != nil {
		text, err := decision.JUnit()
		if err != nil {
			return decision, err
		}
		if _, err := g.junit.Write(text); err != nil {
			return decision, err
		}
	}
	if g.summary != nil {
		_, err = g.summary.Write(decision.Markdown())
	}
	return decision, err
}

// printDecision prints a row for each metric, on a narrow terminal with less in it, and why it cannot tell of some.
func printDecision(c *kit.Call, decision gate.Gate) error {
	full, narrow := kit.TableOf(gate.Columns...), kit.TableOf("metric", "change", "gate")
	for _, judged := range decision.Judged {
		cells := judged.Cells()
		full.Rows = append(full.Rows, []any{cells[0], tables.Figure(cells[1]), tables.Figure(cells[2]), tables.Figure(cells[3]), cells[4], cells[5]})
		narrow.Rows = append(narrow.Rows, []any{cells[0], tables.Figure(cells[3]), cells[5]})
	}
	c.Gap()
	if err := c.PrintForms(full, narrow); err != nil {
		return err
	}
	c.Gap()
	for _, remark := range append(decision.Remarks(), decision.Basis()) {
		c.Remark("%s", remark)
	}
	c.Gap()
	return nil
}

// gateEnding is the exit code of a decision.
func gateEnding(decision gate.Gate) error {
	switch {
	case decision.IsRed():
		return kit.ExitError{Code: kit.ExitNotMet}
	case !decision.IsDecided():
		return kit.ExitError{Code: kit.ExitInvalid}
	}
	return nil
}
