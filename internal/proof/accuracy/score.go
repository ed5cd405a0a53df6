//go:build duckdb_arrow

package accuracy

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"tidemark/internal/stat"
)

// Score summarises the errors of some predictions: predicted over measured, less one.
type Score struct {
	N                       int
	Median, Mean, P90, Bias float64 // of the absolute error; bias is the median of the error itself
	InBand                  float64 // share of measurements inside the 90 % band
	HasBand                 bool    // the predictions came with one
}

// Guess is the prediction of a row that nothing was fitted to.
type Guess struct {
	Row                 Row
	Measured, Predicted float64 // of the study's quantity, seconds
	Low, High           float64
}

// Error is relative to what was measured.
func (g Guess) Error() float64 { return g.Predicted/g.Measured - 1 }

// ScoreOf summarises guesses.
func ScoreOf(guesses []Guess) Score {
	n := len(guesses)
	if n == 0 {
		return Score{}
	}
	absolute, signed := make([]float64, n), make([]float64, n)
	score := Score{N: n}
	for i, g := range guesses {
		signed[i], absolute[i] = g.Error(), math.Abs(g.Error())
		score.Mean += absolute[i] / float64(n)
		score.HasBand = score.HasBand || g.High > 0
		if g.Measured >= g.Low && g.Measured <= g.High {
			score.InBand += 1 / float64(n)
		}
	}
	slices.Sort(absolute)
	slices.Sort(signed)
	score.Median, score.P90, score.Bias = stat.Quantile(absolute, 0.5), stat.Quantile(absolute, 0.9), stat.Quantile(signed, 0.5)
	return score
}

func (s Score) cells() []string {
	percent := func(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
	band := "-"
	if s.HasBand {
		band = fmt.Sprintf("%.0f", 100*s.InBand)
	}
	return []string{fmt.Sprint(s.N), percent(s.Median), percent(s.Mean), percent(s.P90), fmt.Sprintf("%+.1f", 100*s.Bias), band}
}

// Table is a Markdown table.
type Table struct {
	head []string
	rows [][]string
}

// NewTable starts a table with these columns.
func NewTable(head ...string) *Table { return &Table{head: head} }

// Add appends a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// AddScore appends a score under a name.
func (t *Table) AddScore(name string, guesses []Guess) {
	t.Add(append([]string{name}, ScoreOf(guesses).cells()...)...)
}

func (t *Table) String() string {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return text.String()
}

// Groups splits guesses by a name, in the order of the names.
func Groups(guesses []Guess, name func(Guess) string) (names []string, of map[string][]Guess) {
	of = map[string][]Guess{}
	for _, g := range guesses {
		of[name(g)] = append(of[name(g)], g)
	}
	for n := range of {
		names = append(names, n)
	}
	sort.Strings(names)
	return names, of
}
