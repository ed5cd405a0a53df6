//go:build duckdb_arrow

package accuracy

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse"
)

// Freedom is a row of seeds.constants that may be fitted, and how near it must stay to the value
// that kernels alone would give it.
type Freedom struct {
	Name, Engine, Version, GPU, Format, Architecture string // as in seeds.constants; * is any
	Value                                            float64
	Kernel                                           float64 // prior: median
	Spread                                           float64 // prior: standard deviation of the logarithm
}

// Freedoms are all constants that may be fitted.
func Freedoms(ctx context.Context, db *sql.DB) ([]Freedom, error) {
	var free []Freedom
	err := warehouse.Each(ctx, db, `
select name, engine, engine_version, gpu, format, architecture, value, kernel_value, spread
from seeds.constants
where spread is not null
order by name, engine, engine_version, gpu, format, architecture`, nil, func(scan func(...any) error) error {
		var f Freedom
		err := scan(&f.Name, &f.Engine, &f.Version, &f.GPU, &f.Format, &f.Architecture, &f.Value, &f.Kernel, &f.Spread)
		free = append(free, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("constants: %w", err)
	}
	return free, nil
}

// Measured is a point together with its measurement.
type Measured struct {
	analysis.Point
	TPOT float64 // mean, seconds
	TTFT float64 // median, seconds; 0: not measured
}

// Quantity is what constants are fitted to: a time per token, or a time to first token, which has constants of its own.
type Quantity struct {
	Name      string
	predicted func(analysis.Prediction) float64
	band      func(analysis.Prediction) (low, high float64)
	measured  func(Measured) float64
	constants func(name string) bool
}

func (q Quantity) guess(row Row, p analysis.Prediction) Guess {
	low, high := q.band(p)
	return Guess{Row: row, Measured: q.measured(row.Measured), Predicted: q.predicted(p), Low: low, High: high}
}

// ttftConstants are those that only a time to first token has.
var ttftConstants = []string{"request_s", "request_token_s", "prompt_ratio", "bunch_ratio"}

// TPOT and TTFT are the quantities.
var (
	TPOT = Quantity{
		"TPOT", func(p analysis.Prediction) float64 { return p.TPOT },
		func(p analysis.Prediction) (float64, float64) { return p.Low, p.High }, func(m Measured) float64 { return m.TPOT },
		func(name string) bool { return !slices.Contains(ttftConstants, name) },
	}
	TTFT = Quantity{
		"TTFT", func(p analysis.Prediction) float64 { return p.TTFT },
		func(p analysis.Prediction) (float64, float64) { return p.LowTTFT, p.HighTTFT }, func(m Measured) float64 { return m.TTFT },
		func(name string) bool { return slices.Contains(ttftConstants, name) },
	}
)

// Fit holds fitted constants. It maximises a posterior: the prior of each constant is log-normal
// around its kernel value, and errors of the logarithm are normal near zero but cost only linearly
// beyond wildFrom (pseudo-Huber loss, Charbonnier et al. 1997), so that a few wrong rows do not
// pull the fit. The maximum is found by Gauss-Newton steps with differences of whole predictions
// for derivatives.
type Fit struct {
	Of   Quantity
	Free []Freedom
	Used [][]int // of each point, the places in Free of the constants that it has
	logs []float64
}

// wildFrom is the error of the logarithm from which a row counts less and less. It is roughly what
// repeated measurements and the law itself leave.
const wildFrom = 0.06

// NewFit finds out which constants hold for which point: the nearest ones, as for any prediction.
func NewFit(ctx context.Context, db *sql.DB, of Quantity, free []Freedom, points []analysis.Point) (*Fit, error) {
	fit := &Fit{Of: of, Free: free, Used: make([][]int, len(points)), logs: make([]float64, len(free))}
	places := map[Freedom]int{}
	for i, f := range free {
		fit.logs[i] = math.Log(f.Value)
		places[f.name()] = i
	}
	known := map[deployment.Deployment][]int{}
	for i, p := range points {
		used, seen := known[p.Deployment]
		if !seen {
			var err error
			if used, err = nearest(ctx, db, p.Deployment, places); err != nil {
				return nil, err
			}
			known[p.Deployment] = used
		}
		fit.Used[i] = used
	}
	return fit, nil
}

// name is the Freedom without its values, to find it by.
func (f Freedom) name() Freedom {
	return Freedom{Name: f.Name, Engine: f.Engine, Version: f.Version, GPU: f.GPU, Format: f.Format, Architecture: f.Architecture}
}

// key is its name in Point.Constants.
func (f Freedom) key() string {
	if f.Format == "*" {
		return f.Name
	}
	return f.Name + " " + f.Format
}

// nearest asks the warehouse which constants a deployment uses, the same question as a prediction
// asks.
func nearest(ctx context.Context, db *sql.DB, d deployment.Deployment, places map[Freedom]int) ([]int, error) {
	var used []int
	err := warehouse.Each(ctx, db, `
select distinct
    nearest.name,
    nearest.constant.engine,
    nearest.constant.engine_version,
    nearest.constant.gpu,
    nearest.constant.format,
    nearest.constant.architecture
from macros.deployment(?::json) as d
cross join lateral macros.constants_for(
    d.gpu, d.engine, d.engine_version, list_distinct(['bf16', d.weight_format, d.kv_format, d.compute_format]), null,
    of_architecture := d.architecture
) as nearest`, []any{d.SQL()}, func(scan func(...any) error) error {
		var f Freedom
		if err := scan(&f.Name, &f.Engine, &f.Version, &f.GPU, &f.Format, &f.Architecture); err != nil {
			return err
		}
		if place, free := places[f]; free {
			used = append(used, place)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("constants of %s: %w", d.CatalogModel, err)
	}
	return used, nil
}

// String has a line for each constant.
func (f *Fit) String() string {
	var lines strings.Builder
	for i, c := range f.Free {
		fmt.Fprintf(&lines, "%s %s %s %s %s %s: %.4g (prior %.4g)\n", c.Name, c.Engine, c.Version, c.GPU, c.Format, c.Architecture, math.Exp(f.logs[i]), c.Kernel)
	}
	return lines.String()
}

// Constants are the values that hold for a point, by their names.
func (f *Fit) Constants(used []int) map[string]float64 {
	constants := map[string]float64{}
	for _, u := range used {
		constants[f.Free[u].key()] = math.Exp(f.logs[u])
	}
	return constants
}

// Again is a fit that begins where this one is, so that both can be fitted to different points.
func (f *Fit) Again() *Fit {
	again := *f
	again.logs = slices.Clone(f.logs)
	return &again
}

// To fits the constants free (places in Free) to the points rows of measured. slopes are those of all points by all constants: they hardly
// change along the way, nor with what is left out, so they are computed once.
func (f *Fit) To(ctx context.Context, db *sql.DB, measured []Measured, slopes [][]float64, rows []int, free []int) error {
	some := make([][]float64, len(rows))
	for row, i := range rows {
		some[row] = make([]float64, len(free))
		for a, u := range free {
			some[row][a] = slopes[i][u]
		}
	}
	for range 2 {
		residuals, err := f.residuals(ctx, db, measured, rows)
		if err != nil {
			return err
		}
		f.step(residuals, some, free)
	}
	return nil
}

// residuals are the errors of the logarithm.
func (f *Fit) residuals(ctx context.Context, db *sql.DB, measured []Measured, rows []int) ([]float64, error) {
	points := make([]analysis.Point, len(rows))
	for row, i := range rows {
		points[row] = measured[i].Point
		points[row].Constants = f.Constants(f.Used[i])
	}
	predictions, err := analysis.Predict(ctx, db, points)
	if err != nil {
		return nil, err
	}
	residuals := make([]float64, len(rows))
	for row, i := range rows {
		if predictions[row].Why != "" {
			return nil, fmt.Errorf("point %d: %s", i+1, predictions[row].Why)
		}
		residuals[row] = math.Log(f.Of.predicted(predictions[row]) / f.Of.measured(measured[i]))
	}
	return residuals, nil
}

// Slopes are the derivatives of the logarithm of each prediction by the logarithm of each constant. Each constant is a question of its own:
// one about ten times the deployments takes seventy times as long.
func (f *Fit) Slopes(ctx context.Context, db *sql.DB, measured []Measured) ([][]float64, error) {
	const by = 0.05
	slopes := make([][]float64, len(measured))
	all := make([]int, len(measured))
	for i := range measured {
		slopes[i], all[i] = make([]float64, len(f.Free)), i
	}
	base, err := f.residuals(ctx, db, measured, all)
	if err != nil {
		return nil, err
	}
	for u := range f.Free {
		var rows []int
		for i, used := range f.Used {
			if slices.Contains(used, u) {
				rows = append(rows, i)
			}
		}
		f.logs[u] += by
		moved, err := f.residuals(ctx, db, measured, rows)
		f.logs[u] -= by
		if err != nil {
			return nil, err
		}
		for row, i := range rows {
			slopes[i][u] = (moved[row] - base[i]) / by
		}
	}
	return slopes, nil
}

// step is one Gauss-Newton step, with the prior as additional residuals.
func (f *Fit) step(residuals []float64, slopes [][]float64, free []int) {
	n := len(free)
	normal := make([][]float64, n)
	for a, u := range free {
		normal[a] = make([]float64, n+1)
		precision := 1 / (f.Free[u].Spread * f.Free[u].Spread)
		normal[a][a] = precision
		normal[a][n] = -precision * (f.logs[u] - math.Log(f.Free[u].Kernel))
	}
	for i, r := range residuals {
		weight := 1 / (wildFrom * wildFrom * math.Sqrt(1+r*r/(wildFrom*wildFrom)))
		for a := range free {
			for b := range free {
				normal[a][b] += weight * slopes[i][a] * slopes[i][b]
			}
			normal[a][n] -= weight * slopes[i][a] * r
		}
	}
	for a, move := range solved(normal) {
		f.logs[free[a]] += math.Max(-1, math.Min(1, move))
	}
}

// solved solves a positive definite system by elimination. Its right side is the last column.
func solved(system [][]float64) []float64 {
	n := len(system)
	for i := range n {
		for j := i + 1; j < n; j++ {
			share := system[j][i] / system[i][i]
			for k := i; k <= n; k++ {
				system[j][k] -= share * system[i][k]
			}
		}
	}
	solution := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		rest := system[i][n]
		for j := i + 1; j < n; j++ {
			rest -= system[i][j] * solution[j]
		}
		solution[i] = rest / system[i][i]
	}
	return solution
}
