//go:build duckdb_arrow

package decide

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// What becomes of a run, in the words of seeds.decision_tree. Of an open one no decision follows.
const (
	Accepted = "accepted"
	Rejected = "rejected"
	Open     = "open"
)

// Who and why, and when: what a record has beside the figures.
type Words struct {
	Reason, By, Version string
	At                  time.Time
}

// Decision is what is accepted and what is rejected.
type Decision struct {
	ID string
	Words
	Contract  *Contract
	IsEvenSo  bool     // accepted although the path does not say so
	Runs      []Ruling // the run that was decided on first; none is open
	Undecided []Judged // of which nothing was decided
}

// Ruling is one run of a decision.
type Ruling struct {
	Judged
	Status, Why string
}

// record is the document of a row of raw.decisions.
type record struct {
	Schema   string `json:"schema"`
	Why      string `json:"why"`
	Reason   string `json:"reason"`
	By       string `json:"by"`
	At       string `json:"at"`
	IsEvenSo bool   `json:"is_even_so,omitempty"`
	Judged
	Contract *Contract `json:"contract,omitempty"`
	Version  string    `json:"tidemark_version"`
}

const notChosen = "it would do, and another was chosen"

// OfRun decides on the first of the runs; the user rejects the others. Where its path stops without an answer nothing is decided, unless the
// user accepts it even so.
func OfRun(judged []Judged, contract *Contract, evenSo bool, words Words) Decision {
	d := newDecision(contract, words)
	subject := judged[0]
	status := subject.status
	if d.IsEvenSo = evenSo && status != Accepted; d.IsEvenSo {
		status = Accepted
	}
	if status == Open {
		d.Undecided = judged[:1]
		return d
	}
	d.Runs = []Ruling{{subject, status, subject.Rule}}
	for _, other := range judged[1:] {
		d.reject(other)
	}
	return d
}

// OfSeries chooses among the rows of a series: of those whose runs may all be accepted the one whose accepted tokens cost least. Rows of which
// nothing can be decided are left out.
func OfSeries(judged []Judged, contract *Contract, words Words) (Decision, error) {
	d := newDecision(contract, words)
	var values []string
	rows := map[string][]Judged{}
	for _, j := range judged {
		if rows[j.value] == nil {
			values = append(values, j.value)
		}
		rows[j.value] = append(rows[j.value], j)
	}
	var able []string
	for _, value := range values {
		if !slices.ContainsFunc(rows[value], func(j Judged) bool { return j.status != Accepted }) {
			able = append(able, value)
		}
	}
	chosen, err := cheapest(able, rows)
	if err != nil {
		return d, err
	}
	if len(able) > 0 {
		for _, j := range rows[chosen] {
			d.Runs = append(d.Runs, Ruling{j, Accepted, j.Rule})
		}
	}
	for _, j := range judged {
		switch {
		case j.value == chosen && len(able) > 0:
		case j.status == Open:
			d.Undecided = append(d.Undecided, j)
		default:
			d.reject(j)
		}
	}
	return d, nil
}

// cheapest is the row with the least mean cost. Where several would do and the cost of one is not known, the user has to choose.
func cheapest(able []string, rows map[string][]Judged) (chosen string, err error) {
	if len(able) == 0 {
		return "", nil
	}
	mean := func(value string) (sum float64, isKnown bool) {
		for _, j := range rows[value] {
			if j.Cost == nil {
				return 0, false
			}
			sum += *j.Cost / float64(len(rows[value]))
		}
		return sum, true
	}
	for _, value := range able {
		if _, isKnown := mean(value); !isKnown && len(able) > 1 {
			return "", hint.Misuse("decide: %s of the series would do, and what their tokens cost is not known", show.Things(len(able), "row", "rows")).
				Hint("name the run: tidemark decide %s --rejected RUN, or give a --contract with a price", rows[able[0]][0].RunID)
		}
	}
	return slices.MinFunc(able, func(a, b string) int {
		costOfA, _ := mean(a)
		costOfB, _ := mean(b)
		return cmp.Compare(costOfA, costOfB)
	}), nil
}

func newDecision(contract *Contract, words Words) Decision {
	return Decision{ID: fmt.Sprintf("%s-%04x", words.At.UTC().Format("20060102-150405"), rand.N(1<<16)), Words: words, Contract: contract}
}

func (d *Decision) reject(j Judged) {
	why := j.Rule
	if j.status == Accepted {
		why = notChosen
		if first := d.Runs[0]; first.Cost != nil && j.Cost != nil && first.Status == Accepted {
			why += fmt.Sprintf(": %s per million accepted tokens, of that one %s", show.Figures(*j.Cost), show.Figures(*first.Cost))
		}
	}
	d.Runs = append(d.Runs, Ruling{j, Rejected, why})
}

// IsAccepted says that the run that was decided on, or a row of the series, is accepted.
func (d Decision) IsAccepted() bool { return len(d.Runs) > 0 && d.Runs[0].Status == Accepted }

// Keep adds the decision to the warehouse. A run that was purged meanwhile is an error, and then nothing is added.
func (d Decision) Keep(ctx context.Context, w *warehouse.Warehouse) error {
	return w.Write(ctx, func(tx *warehouse.Tx) error {
		for place, run := range d.Runs {
			document, err := json.Marshal(record{"tidemark.decision/1", run.Why, d.Reason, d.By, d.At.UTC().Format(time.RFC3339), d.IsEvenSo && place == 0, run.Judged, d.Contract, d.Version})
			if err != nil {
				return err
			}
			var isThere bool
			if err := tx.QueryRow(ctx, "select exists (from raw.runs where run_id = ?)", run.RunID).Scan(&isThere); err != nil {
				return err
			}
			if !isThere {
				return hint.Errorf("decide: run %s has just been removed", run.RunID).Hint("decide again")
			}
			if err := tx.Exec(ctx, "insert into raw.decisions (decision_id, run_id, place, status, document) values (?, ?, ?, ?, ?)", d.ID, run.RunID, place, run.Status, string(document)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Series gives the runs of an experiment, by its id or its name, with the row that each is of; none where no experiment is called that.
func Series(ctx context.Context, db *sql.DB, name string) (runs, values []string, err error) {
	var series []string
	err = warehouse.Each(ctx, db, `
select
    run_id,
    series_id,
    coalesce(value, '')
from staging.runs
where series_id is not null
    and ? in (series_id, series_name)
order by
    series_row,
    series_repeat,
    run_id`, []any{name}, func(scan func(...any) error) error {
		var run, id, value string
		err := scan(&run, &id, &value)
		runs, values, series = append(runs, run), append(values, value), append(series, id)
		return err
	})
	slices.Sort(series)
	if series = slices.Compact(series); err == nil && len(series) > 1 {
		err = hint.Misuse("decide: %d experiments are named %q", len(series), name).Hint("give the id of one: %s", series[0])
	}
	return runs, values, err
}

// OfRows notes which row of a series each run is of.
func OfRows(judged []Judged, values []string) []Judged {
	for i := range judged {
		judged[i].value = values[i]
	}
	return judged
}
