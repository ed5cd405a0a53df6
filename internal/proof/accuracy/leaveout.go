//go:build duckdb_arrow

package accuracy

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/store/warehouse"
)

// Study is a set of measurements of one quantity and a warehouse to predict them with.
type Study struct {
	Of   Quantity
	DB   *sql.DB
	Rows []Row
	free []Freedom

	measured []Measured
	start    *Fit // with the constants of the warehouse; nil before the first fit
	slopes   [][]float64
}

// NewStudy finds out which constants may be fitted.
func NewStudy(ctx context.Context, db *sql.DB, of Quantity, rows []Row) (*Study, error) {
	free, err := Freedoms(ctx, db)
	free = slices.DeleteFunc(free, func(f Freedom) bool { return !of.constants(f.Name) })
	return &Study{Of: of, DB: db, Rows: rows, free: free}, err
}

// FitTo fits all constants to the rows train (places in Rows): those of every engine and of vLLM to
// vLLM's rows, those of another engine to the rows of that engine.
func (s *Study) FitTo(ctx context.Context, train []int) (*Fit, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	fit := s.start.Again()
	for _, engines := range [][]string{{"*", "vllm"}, {"sglang"}, {"tensorrt-llm"}} {
		var rows, free []int
		for _, i := range train {
			if strings.EqualFold(s.Rows[i].Engine, engines[len(engines)-1]) {
				rows = append(rows, i)
			}
		}
		for u, f := range s.free {
			if f.Engine == engines[0] || f.Engine == engines[len(engines)-1] {
				free = append(free, u)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := fit.To(ctx, s.DB, s.measured, s.slopes, rows, free); err != nil {
			return nil, err
		}
	}
	return fit, nil
}

// begin finds what all fits have in common.
func (s *Study) begin(ctx context.Context) error {
	if s.start != nil {
		return nil
	}
	points := make([]analysis.Point, len(s.Rows))
	s.measured = make([]Measured, len(s.Rows))
	for i, row := range s.Rows {
		points[i], s.measured[i] = row.Point, row.Measured
	}
	start, err := NewFit(ctx, s.DB, s.Of, s.free, points)
	if err != nil {
		return err
	}
	if s.slopes, err = start.Slopes(ctx, s.DB, s.measured); err != nil {
		return err
	}
	s.start = start
	return nil
}

// Guess predicts the rows test with a fit's constants; a nil fit uses those of the warehouse.
func (s *Study) Guess(ctx context.Context, fit *Fit, test []int) ([]Guess, []analysis.Prediction, error) {
	points := make([]analysis.Point, len(test))
	for place, i := range test {
		points[place] = s.Rows[i].Point
		if fit != nil {
			points[place].Constants = fit.Constants(fit.Used[i])
		}
	}
	predictions, err := analysis.Predict(ctx, s.DB, points)
	if err != nil {
		return nil, nil, err
	}
	guesses := make([]Guess, len(test))
	for place, i := range test {
		p := predictions[place]
		if p.Why != "" {
			return nil, nil, fmt.Errorf("line %d: %s", s.Rows[i].Line, p.Why)
		}
		guesses[place] = s.Of.guess(s.Rows[i], p)
	}
	return guesses, predictions, nil
}

// LeaveOut predicts each part of the rows with constants that were fitted to the others.
func (s *Study) LeaveOut(ctx context.Context, part func(Row) string) ([]Guess, []analysis.Prediction, error) {
	parts := map[string][]int{}
	var names []string
	for i, row := range s.Rows {
		name := part(row)
		if parts[name] == nil {
			names = append(names, name)
		}
		parts[name] = append(parts[name], i)
	}
	var guesses []Guess
	var predictions []analysis.Prediction
	for _, name := range names {
		var train []int
		for i, row := range s.Rows {
			if part(row) != name {
				train = append(train, i)
			}
		}
		fit, err := s.FitTo(ctx, train)
		if err != nil {
			return nil, nil, err
		}
		part, more, err := s.Guess(ctx, fit, parts[name])
		if err != nil {
			return nil, nil, err
		}
		guesses, predictions = append(guesses, part...), append(predictions, more...)
	}
	return guesses, predictions, nil
}

// ByModel leaves out all configurations of one model at a time: the case of a model that was never
// measured.
func ByModel(r Row) string { return r.Model }

// Fifth assigns a configuration, with all its concurrencies, to one of five parts. A split by row
// would leave nearly the same point in the training set.
func Fifth(r Row) string {
	h := fnv.New32a()
	h.Write([]byte(r.Configuration))
	return fmt.Sprint(h.Sum32() % 5)
}

// ForgetGPU removes everything measured on a GPU's kernels from a warehouse. Only its datasheet is
// left, and that it is related to measured ones, as for a GPU of their generation that is not released yet.
func ForgetGPU(ctx context.Context, db *sql.DB, gpu string) error {
	for _, table := range []string{"constants", "expert_curves", "gemm_curves", "attention_curves", "mla_curves", "all_reduce_curves"} {
		if _, err := db.ExecContext(ctx, "delete from seeds."+table+" where gpu = ?", gpu); err != nil {
			return fmt.Errorf("forget %s: %w", gpu, err)
		}
	}
	_, err := db.ExecContext(ctx, `
insert into seeds.constants (name, engine, engine_version, gpu, format, value, unit, source)
values ('gpu_distance', '*', '*', ?, '*', 1, '1', 'related to the measured ones')`, gpu)
	if err != nil {
		return fmt.Errorf("forget %s: %w", gpu, err)
	}
	if _, err := db.ExecContext(ctx, "update warehouse.known set fingerprint = ''"); err != nil {
		return fmt.Errorf("forget %s: %w", gpu, err)
	}
	return warehouse.KnowAgain(ctx, db) // what macros read of the seeds
}
