package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/internal/stat"
)

// Predictions for a table of configurations, written next to the user's own columns, and how far they are from measurements that stand in
// the table. A measurement below the floor is an error in the data (a wrong GPU, model or format), so it is named and left out of the
// errors: with it, the model would be judged by a typing mistake.

// Given is a cell of the user's table. It is handed back as it was written.
type Given string

// Errors say how far predictions are from measurements. An error is predicted / measured - 1.
type Errors struct {
	Rows, Predicted, Measured int      // Measured: rows that were compared
	Median, Mean, P90         float64  // of the absolute errors
	Bias                      float64  // mean of the errors with their signs
	InBand                    float64  // share of the measurements inside the predicted band
	BelowFloor                []int    // lines of measurements that the hardware does not allow: these are not compared
	Renewed                   []string // columns of the input that were computed anew
	FirstWhy                  string   // why the first row without a prediction has none
	FirstWhyLine              int
}

// PredictPoints answers with the user's rows and the model's columns after them. An input column with the name of one of the model's columns is
// computed anew in its place, so that the output of one prediction can be the input of the next. A cell that cannot be predicted is empty, and
// the row's "why" says the reason.
func PredictPoints(ctx context.Context, db *sql.DB, points *Points, base Point) (Table, Errors, error) {
	asked := make([]Point, len(points.Rows))
	whys := make([]error, len(points.Rows))
	lengths := lengthChecks{}
	for i := range points.Rows {
		asked[i], whys[i] = points.Point(i, base)
		if lacks := asked[i].lacks(); whys[i] == nil && len(lacks) > 0 {
			whys[i] = fmt.Errorf("nothing is said of %s", strings.Join(lacks, ", "))
		}
		if whys[i] == nil {
			var err error
			if whys[i], err = lengths.of(ctx, db, asked[i].Deployment); err != nil {
				return Table{}, Errors{}, err
			}
		}
		if whys[i] != nil {
			asked[i] = Point{}
		}
	}
	predictions, err := Predict(ctx, db, asked)
	if err != nil {
		return Table{}, Errors{}, err
	}
	columns := PredictionColumns()
	if points.HasTPOT() {
		columns = append(columns, "error_ratio", "is_in_band", "is_below_floor")
	}
	table := answers.TableOf(points.Header...)
	table.Name = "points"
	places := make([]int, len(columns))
	summary := Errors{Rows: len(points.Rows)}
	for i, column := range columns {
		places[i] = slices.Index(points.Header, column)
		if places[i] >= 0 {
			summary.Renewed = append(summary.Renewed, column)
			continue
		}
		places[i] = len(table.Columns)
		table.Columns = append(table.Columns, column)
	}
	var errorRatios []float64
	for i, row := range points.Rows {
		p := predictions[i]
		if whys[i] != nil {
			p = nothing(whys[i].Error())
		}
		cells := make([]any, len(table.Columns))
		for j, text := range row[:min(len(row), len(points.Header))] {
			cells[j] = points.given(j, text)
		}
		of := p.Cells(asked[i])
		if points.HasTPOT() {
			measured, why := points.measured(i)
			if p.Why == "" && why != "" {
				of[len(of)-1] = why
			}
			of = append(of, p.missed(measured)...)
		}
		for j, value := range of {
			cells[places[j]] = value
		}
		table.Rows = append(table.Rows, cells)
		summary.add(p, points, i, &errorRatios)
	}
	summary.close(errorRatios)
	return table, summary, nil
}

// lacks names what a prediction needs and the point does not say.
func (p Point) lacks() []string { return (&Points{}).Lacks(p) }

// given is a cell of the input: a number if its column is read as numbers and the text is one, else the text.
func (p *Points) given(column int, text string) any {
	if p.IsNumber(column) && json.Valid([]byte(text)) && strings.Trim(text, "+-.0123456789eE") == "" {
		return json.Number(text)
	}
	return Given(text)
}

// PredictionColumns are the columns that Cells fills: the numbers, then whether the load fills the engine and whether it can be served, then
// where experts, all terms and constants come from, and last why there is no prediction.
func PredictionColumns() []string {
	return slices.Concat(numberColumns, []string{"is_full", "is_stable", "experts_from", "gpu_kinship", "terms_from", "calibration", "why"})
}

// Cells are a prediction in the order of PredictionColumns; an unknown or infinite number is nil. Requests and tokens per second are of
// all replicas together.
func (p Prediction) Cells(of Point) []any {
	replicas := float64(max(of.DataParallelSize, 1))
	p.RequestsPerS, p.OutputPerS = p.RequestsPerS*replicas, p.OutputPerS*replicas
	var cells []any
	for _, number := range p.numbers() {
		cells = append(cells, known(*number))
	}
	if p.Why == "" {
		cells = append(cells, p.IsFull, p.IsStable)
	} else {
		cells = append(cells, nil, nil)
	}
	for _, text := range []string{p.ExpertsFrom, p.GPUKinship, p.TermsFrom, p.Calibration, p.Why} {
		if text == "" {
			cells = append(cells, nil)
			continue
		}
		cells = append(cells, text)
	}
	return cells
}

// missed is the error of a prediction, whether the measurement is in the predicted band, and whether it is below the floor. Below the
// floor the error is the data's.
func (p Prediction) missed(measured float64) []any {
	if math.IsNaN(measured) || math.IsNaN(p.TPOT) {
		return []any{nil, nil, nil}
	}
	return []any{p.TPOT/measured - 1, p.Low <= measured && measured <= p.High, p.isBelowFloor(measured)}
}

// known is nil for a number that a CSV or JSON file cannot hold.
func known(figure float64) any {
	if math.IsNaN(figure) || math.IsInf(figure, 0) {
		return nil
	}
	return figure
}

// floorSlack is how far a measurement may lie below the floor: 2 % for what a client cannot see of a step, as in macros.is_below_floor.
const floorSlack = 0.02

func (p Prediction) isBelowFloor(measured float64) bool { return measured < (1-floorSlack)*p.FloorTPOT }

// add counts one row, and adds its error to ratios if it can be compared.
func (e *Errors) add(p Prediction, points *Points, row int, ratios *[]float64) {
	if p.Why != "" {
		if e.FirstWhy == "" {
			e.FirstWhy, e.FirstWhyLine = p.Why, points.Lines[row]
		}
		return
	}
	e.Predicted++
	measured := points.TPOT(row)
	if math.IsNaN(measured) {
		return
	}
	if p.isBelowFloor(measured) {
		e.BelowFloor = append(e.BelowFloor, points.Lines[row])
		return
	}
	e.Measured++
	*ratios = append(*ratios, p.TPOT/measured-1)
	if p.Low <= measured && measured <= p.High {
		e.InBand++
	}
}

// close computes the summary once all rows are there.
func (e *Errors) close(ratios []float64) {
	if len(ratios) == 0 {
		return
	}
	sizes := make([]float64, len(ratios))
	for i, ratio := range ratios {
		sizes[i] = math.Abs(ratio)
		e.Mean += sizes[i] / float64(len(ratios))
		e.Bias += ratio / float64(len(ratios))
	}
	slices.Sort(sizes)
	e.Median, e.P90 = stat.Quantile(sizes, 0.5), stat.Quantile(sizes, 0.9)
	e.InBand /= float64(len(ratios))
}

// String is the summary in one line: rows, how many are compared, and the errors in percent.
func (e Errors) String() string {
	text := fmt.Sprintf("%d rows, %d predicted", e.Rows, e.Predicted)
	if e.Rows == 1 {
		text = fmt.Sprintf("1 row, %d predicted", e.Predicted)
	}
	if n := len(e.BelowFloor); n > 0 {
		text += fmt.Sprintf(", %d below the floor and left out", n)
	}
	if e.Measured == 0 {
		return text
	}
	return text + fmt.Sprintf(", %d compared: error median %.1f %%, mean %.1f %%, p90 %.1f %%, bias %+.1f %%; %.0f %% in their bands",
		e.Measured, 100*e.Median, 100*e.Mean, 100*e.P90, 100*e.Bias, 100*e.InBand)
}
