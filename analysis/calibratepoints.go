package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/regression"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// A calibration from a table of measured points: results of other tools, or what a server's own metrics say hour by hour. A point counts as
// one independent measurement. Each row of the table must be of the same deployment, because constants belong to one.

// CalibratePoints fits the constants of the points' one deployment to their measured TPOT. base says what the table does not, and name is what
// the calibration is told to come from. Rows that cannot be used are left out, and a warning says which and why: rows without a measurement or
// without a prediction, below the floor, simulated, or decoded speculatively. It stores nothing.
func CalibratePoints(ctx context.Context, db *sql.DB, points *Points, base Point, name string, now time.Time) (Calibration, error) {
	if err := points.CheckColumns(base); err != nil {
		return Calibration{}, err
	}
	given, left, err := points.forCalibration(base)
	if err != nil {
		return Calibration{}, err
	}
	if len(given) == 0 {
		return Calibration{}, hint.Errorf("no row to calibrate on: %s", strings.Join(left.said(), "; ")).
			Hint("a row needs a measured tpot_ms or tpot_s, and the load that it was measured at")
	}
	read, row, err := readUncalibratedDeployment(ctx, db, given[0].Deployment)
	if err != nil {
		return Calibration{}, err
	}
	var asked []Point
	for _, one := range given {
		asked = append(asked, one.Point)
	}
	predictions, err := predict(ctx, db, asked, &row)
	if err != nil {
		return Calibration{}, err
	}
	for i, p := range predictions {
		switch measured := given[i].tpot; {
		case p.Why != "":
			left.add(p.Why, given[i].line)
		case p.isBelowFloor(measured):
			left.add("measured below the floor: a wrong GPU, model, format or number of GPUs", given[i].line)
		default:
			read.rows = append(read.rows, regression.Row{Run: name, TPOT: measured, Weight: 1, Terms: p.scalable(read.constant("step_s", "*"))})
		}
	}
	if len(read.rows) == 0 {
		return Calibration{}, hint.Errorf("no row to calibrate on: %s", strings.Join(left.said(), "; ")).Hint(`"tidemark predict --points" shows each row`)
	}
	c, err := read.calibrate([]string{name}, now)
	if err != nil {
		return Calibration{}, err
	}
	c.Points = len(read.rows)
	c.Warnings = append(left.said(), c.Warnings...)
	return c, nil
}

// scalable are the terms by the names of constantsOf. step is the constant time of a step's host work; what is above it grows with the
// sequences.
func (p Prediction) scalable(step float64) map[string]float64 {
	terms := map[string]float64{}
	for i, name := range TermNames() {
		terms[strings.TrimSuffix(name, "_s")] = p.Terms[i]
	}
	host := terms["host"]
	delete(terms, "host")
	terms["step"] = min(host, step)
	terms["sequences"] = host - terms["step"]
	return terms
}

// measuredPoint is a row that can be fitted.
type measuredPoint struct {
	Point
	line int
	tpot float64
}

// leftOut are the lines that are not fitted, by the reason.
type leftOut struct {
	reasons []string
	lines   map[string][]int
}

func (l *leftOut) add(reason string, line int) {
	if l.lines == nil {
		l.lines = map[string][]int{}
	}
	if l.lines[reason] == nil {
		l.reasons = append(l.reasons, reason)
	}
	l.lines[reason] = append(l.lines[reason], line)
}

// said is one sentence for each reason.
func (l *leftOut) said() (all []string) {
	for _, reason := range l.reasons {
		lines := l.lines[reason]
		text := fmt.Sprintf("line %d is left out: %s", lines[0], reason)
		if len(lines) > 1 {
			text = fmt.Sprintf("%d lines are left out, the first is %d: %s", len(lines), lines[0], reason)
		}
		all = append(all, text)
	}
	return all
}

// forCalibration are the rows with a measurement. Rows of two deployments are an error that names a line of each.
func (p *Points) forCalibration(base Point) (given []measuredPoint, left leftOut, err error) {
	origin := slices.IndexFunc(p.Header, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), "origin") })
	for i, line := range p.Lines {
		point, err := p.Point(i, base)
		if err != nil {
			left.add(strings.TrimPrefix(err.Error(), fmt.Sprintf("line %d: ", line)), line)
			continue
		}
		measured, why := p.measured(i)
		switch lacks := point.lacks(); {
		case len(lacks) > 0:
			left.add("nothing is said of "+strings.Join(lacks, ", "), line)
		case math.IsNaN(measured) && why == "":
			left.add("no measured TPOT", line)
		case math.IsNaN(measured):
			left.add(why, line)
		case origin >= 0 && strings.TrimSpace(p.Rows[i][origin]) != "" && strings.TrimSpace(p.Rows[i][origin]) != "measured":
			left.add(strings.TrimSpace(p.Rows[i][origin])+", not measured: a simulator answers as the model predicts", line)
		case point.Drafts > 0:
			left.add("decoded speculatively, so that a token is not a step", line)
		default:
			given = append(given, measuredPoint{point, line, measured})
		}
	}
	for _, one := range given {
		if why := differs(given[0].Deployment, one.Deployment); why != "" {
			return nil, left, hint.Misuse("lines %d and %d are of two deployments: %s", given[0].line, one.line, why).
				Hint("constants belong to one deployment; calibrate each on its own")
		}
	}
	return given, left, nil
}

// differs names the first field in which two deployments differ. Patches of one version of the engine are alike.
func differs(a, b deployment.Deployment) string {
	a.EngineVersion, b.EngineVersion = minor(a.EngineVersion), minor(b.EngineVersion)
	for _, f := range deployment.Fields {
		if one, other := f.Get(a), f.Get(b); one != other {
			return fmt.Sprintf("%s %s and %s", strings.ReplaceAll(f.Name, "_", " "), saidOf(one), saidOf(other))
		}
	}
	return ""
}

func saidOf(value any) string {
	if value == nil {
		return "not said"
	}
	return fmt.Sprint(value)
}

// minor is 0.12 of 0.12.3.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// readUncalibratedDeployment reads a deployment's row and constants as if nothing had been calibrated before. The deletion is rolled back, so
// that nobody sees it.
func readUncalibratedDeployment(ctx context.Context, db *sql.DB, d deployment.Deployment) (read calibrated, row deploymentRow, err error) {
	resolved, err := Resolve(ctx, db, d)
	if err != nil {
		return read, row, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return read, row, fmt.Errorf("deployment: %w", err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "delete from raw.calibrations"); err != nil {
		return read, row, fmt.Errorf("deployment: %w", err)
	}
	if err := warehouse.KnowAgain(ctx, tx); err != nil {
		return read, row, fmt.Errorf("deployment: %w", err)
	}
	of := deployed{Deployment: resolved}
	err = tx.QueryRowContext(ctx, `
select
    coalesce(d.engine_version, ''),
    d.data_parallel_size,
    d.expert_parallel_size,
    d.is_mla,
    `+isKVByArithmetic+`,
    `+rowColumns+fromDeployment, resolved.SQL()).Scan(
		&of.EngineVersion, &of.DataParallelSize, &of.ExpertParallelSize, &of.IsMLA, &of.IsKVByArithmetic, &row.row, &row.structure)
	if errors.Is(err, sql.ErrNoRows) {
		err = hint.Errorf("deployment: without its calibrations it is not known")
	}
	if err != nil {
		return read, row, fmt.Errorf("deployment: %w", err)
	}
	of.CatalogModel = resolved.ModelName()
	read.deployments = []deployed{of}
	read.constants, err = readConstants(ctx, tx, of)
	return read, row, err
}
