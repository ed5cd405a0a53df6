//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// AskedCapacity is the question of a search for capacity: the first line of its state file, and the header of an answer that is kept.
type AskedCapacity struct {
	Schema       string                `json:"schema"`
	SearchID     string                `json:"search_id"`
	AnswerKey    string                `json:"answer_key,omitempty"` // of a rehearsed one: capacity.Question.Key
	Verb         string                `json:"verb,omitempty"`       // that asked; empty: capacity
	Source       string                `json:"source"`
	SourceSHA256 string                `json:"source_sha256"`
	Window       capacity.Span         `json:"window"`
	Lengths      string                `json:"lengths,omitempty"`
	Mode         string                `json:"mode"`
	By           string                `json:"by"`
	Origin       string                `json:"origin"`
	Deployment   deployment.Deployment `json:"deployment"`
	Replicas     int                   `json:"replicas"`
	Routing      string                `json:"routing"`
	SLO          SLO                   `json:"slo"`
	BudgetS      float64               `json:"budget_s"`
	Precision    float64               `json:"precision"`
	MinScale     float64               `json:"min_scale,omitempty"`
	MaxScale     float64               `json:"max_scale,omitempty"`
	Seed         uint64                `json:"seed"`
	BaseURLs     []string              `json:"base_urls,omitempty"`
	Model        string                `json:"model"`
	Calibration  string                `json:"calibration,omitempty"` // that a search began with: its origin and errors, in words
	StartedAt    string                `json:"started_at"`
	Version      string                `json:"tidemark_version"`
}

// CapacitySchema is what AskedCapacity.Schema says.
const CapacitySchema = "tidemark.capacity/1"

// Answers rehearses capacities for a verb. What was rehearsed before, by whatever verb, is answered from the warehouse at once.
type Answers struct {
	DB     *sql.DB
	IsKept bool          // DB is a warehouse of this version, and not the catalogue alone
	Asked  AskedCapacity // what all questions of the verb share: verb, source, SLO, version of the program

	made []keptAnswer
}

// keptAnswer is the document of an answer in the warehouse.
type keptAnswer struct {
	Header AskedCapacity   `json:"header"`
	Answer capacity.Answer `json:"answer"`
}

// Rehearse is capacity.Rehearse of a deployment and a window, or its answer of an earlier time.
func (a *Answers) Rehearse(ctx context.Context, q capacity.Question, d deployment.Deployment, w capacity.Span) (capacity.Answer, error) {
	key, answer, at, err := a.Earlier(ctx, q)
	if err != nil || at != nil {
		return answer, err
	}
	if answer, err = capacity.Rehearse(ctx, q); err == nil {
		a.Add(key, q, d, w, answer)
	}
	return answer, err
}

// Add takes in an answer that was rehearsed by the caller, under the key of Earlier.
func (a *Answers) Add(key string, q capacity.Question, d deployment.Deployment, w capacity.Span, answer capacity.Answer) {
	asked := a.Asked
	asked.Schema, asked.AnswerKey, asked.Origin, asked.By = CapacitySchema, key, "rehearsed", "sessions"
	asked.Deployment, asked.Window, asked.Mode = d, w, q.Mode
	asked.Replicas, asked.Routing, asked.Seed, asked.MaxScale = q.Twin.Replicas, q.Twin.Routing, q.Seed, q.MaxScale
	asked.StartedAt = time.Now().UTC().Format(time.RFC3339)
	a.made = append(a.made, keptAnswer{asked, answer})
}

// Earlier is the answer to a question that was rehearsed before, and when that was; at is nil where none was. The key names the question.
func (a *Answers) Earlier(ctx context.Context, q capacity.Question) (key string, answer capacity.Answer, at *time.Time, err error) {
	if key, err = q.Key(a.Asked.Version, queries.Stamp()); err != nil || !a.IsKept {
		return key, answer, nil, err
	}
	var document string
	var said time.Time
	err = a.DB.QueryRowContext(ctx, `
select
    answer::varchar,
    last_event_at
from staging.capacities
where answer_key = ?
    and (? or len(curve) > 0)
order by last_event_at
limit 1`, key, q.IsBrief).Scan(&document, &said)
	if errors.Is(err, sql.ErrNoRows) {
		return key, answer, nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(document), &answer)
	}
	if err != nil {
		return key, answer, nil, fmt.Errorf("answer %s: %w", key, err)
	}
	return key, answer, &said, nil
}

// IsNew says that there is something to keep.
func (a *Answers) IsNew() bool { return len(a.made) > 0 }

// Keep puts the new answers into a warehouse. They belong to the source or the run that their traffic came from, and go with it.
func (a *Answers) Keep(ctx context.Context, w *warehouse.Warehouse) error {
	return w.Write(ctx, func(tx *warehouse.Tx) error {
		for _, made := range a.made {
			document, err := json.Marshal(made)
			if err != nil {
				return err
			}
			err = tx.Exec(ctx, `
insert or replace into raw.shape_capacities (capacity_key, source_ids, document)
select
    ?,
    coalesce(list(source_id), []),
    ?
from raw.sources
where sha256 = ?
    or source_id in (select source_id from raw.runs where run_id = ?)`, "answer "+made.Header.AnswerKey, string(document), made.Header.SourceSHA256, made.Header.Source)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
