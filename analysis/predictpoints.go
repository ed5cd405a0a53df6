package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Given is a cell of a user's table, which is handed back as it was.
type Given string

// Errors are what predictions missed measurements by: predicted over measured, less 1.
type Errors struct {
	Rows, Predicted, Measured int     // Measured: those that were compared
	Median, Mean, P90         float64 // of the absolute errors
	Bias                      float64 // mean of the errors with their signs
	InBand                    float64 // share of the measurements inside the predicted band
	BelowFloor                []int   // lines of measurements that the hardware does not allow: these are not compared
	Renewed                   []string
	FirstWhy                  string
	FirstWhyLine              int
}

// PredictPoints is Points with the model's columns behind its own, row by row. A column of the input that has a name of
// the model's is made anew where it stands.
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
	table := Table{Name: "points"}
	for _, name := range points.Header {
		table.Columns = append(table.Columns, Column{Name: name})
	}
	places := make([]int, len(columns))
	summary := Errors{Rows: len(points.Rows)}
	for i, column := range columns {
		places[i] = slices.Index(points.Header, column)
		if places[i] >= 0 {
			summary.Renewed = append(summary.Renewed, column)
			continue
		}
		places[i] = len(table.Columns)
		table.Columns = append(table.Columns, Column{Name: column})
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

// lacks is what a point cannot do without and does not say.
func (p Point) lacks() []string { return (&Points{}).Lacks(p) }

// given keeps a number a number where it is read as one.
func (p *Points) given(column int, text string) any {
	if p.IsNumber(column) && json.Valid([]byte(text)) && strings.Trim(text, "+-.0123456789eE") == "" {
		return json.Number(text)
	}
	return Given(text)
}

// PredictionColumns are the names of what Cells gives.
func PredictionColumns() []string {
	return slices.Concat(numberColumns, []string{"is_full", "is_stable", "experts_from", "calibration", "why"})
}

// Cells are a prediction in the order of PredictionColumns; what is not known or has no end is nil. Requests and tokens a second are of
// all replicas.
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
	for _, text := range []string{p.ExpertsFrom, p.Calibration, p.Why} {
		if text == "" {
			cells = append(cells, nil)
			continue
		}
		cells = append(cells, text)
	}
	return cells
}

// missed is the error of a prediction, whether the measurement is in its band, and whether it is below the floor, which
// makes the error one of the data.
func (p Prediction) missed(measured float64) []any {
	if math.IsNaN(measured) || math.IsNaN(p.TPOT) {
		return []any{nil, nil, nil}
	}
	return []any{p.TPOT/measured - 1, p.Low <= measured && measured <= p.High, p.isBelowFloor(measured)}
}

func known(figure float64) any {
	if math.IsNaN(figure) || math.IsInf(figure, 0) {
		return nil
	}
	return figure
}

// floorSlack is what a measurement may lie below the floor by for being rounded.
const floorSlack = 0.02

func (p Prediction) isBelowFloor(measured float64) bool { return measured < (1-floorSlack)*p.FloorTPOT }

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
	e.Median, e.P90 = quantileOf(sizes, 0.5), quantileOf(sizes, 0.9)
	e.InBand /= float64(len(ratios))
}

// quantileOf is between the two nearest of sorted values, as quantile_cont has it.
func quantileOf(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

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
