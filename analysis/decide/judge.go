//go:build duckdb_arrow

package decide

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/analysis/workload"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
	"tidemark/replay/profile"
)

// Judged is a run with what it is decided by. Its JSON is what raw.decisions keeps of it. What is nil is not known; times are seconds.
type Judged struct {
	RunID      string      `json:"-"`
	Name       string      `json:"name"`
	MeasuredOn string      `json:"measured_on"`
	SLO        string      `json:"slo"`
	Outcome    string      `json:"outcome"`
	Objectives []Objective `json:"objectives"`
	Distance   *float64    `json:"distance"` // the larger of prompts and answers
	Price      *float64    `json:"price_per_gpu_hour"`
	Cost       *float64    `json:"cost_per_million_accepted_tokens"`
	TPOT       *float64    `json:"tpot_s"`
	Predicted  *float64    `json:"predicted_tpot_s"`
	Slowdown   *float64    `json:"slowdown_ratio"`
	Path       []Step      `json:"path"`
	Rule       string      `json:"rule"`
	FirstLine  string      `json:"-"`

	settings    string // of its configuration beside GPU, model and format
	isRehearsed bool
	status      string // of its path: accepted, rejected or open
	facts       map[string]*bool
	value       string // of a series: the row that it is a repeat of
}

// Objective is one bound with what was observed.
type Objective struct {
	Metric     string   `json:"metric"`
	Percentile float64  `json:"percentile,omitempty"`
	Class      string   `json:"class,omitempty"`
	AtMost     float64  `json:"at_most"`
	Observed   *float64 `json:"observed"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Samples    int64    `json:"samples"`
	Outcome    string   `json:"outcome"`
	Words      string   `json:"words"`
}

// Step is a question of the path with its answer.
type Step struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Judge judges runs by a contract; nil: each by the SLO that it was sent for. db is the warehouse in the file at path, and stays as it is.
func Judge(ctx context.Context, db *sql.DB, path string, runs []string, contract *Contract) ([]Judged, error) {
	judged := make([]Judged, len(runs))
	for i, run := range runs {
		if slices.Contains(runs[:i], run) {
			return nil, hint.Misuse("decide: run %s is named twice", run).Hint("a run is accepted or rejected")
		}
		judged[i].RunID = run
		verdict, err := analysis.Judge(ctx, db, run) // an unknown run is told with those that are known
		if err != nil {
			return nil, err
		}
		judged[i].facts = map[string]*bool{"is_answered": new(verdict.Completed > 0)}
		if contract == nil || verdict.Completed == 0 {
			continue
		}
		if err := judged[i].shape(ctx, db, contract); err != nil {
			return nil, err
		}
	}
	ask := func(db *sql.DB) error {
		for i := range judged {
			if err := judged[i].ask(ctx, db, contract); err != nil {
				return fmt.Errorf("decide %s: %w", judged[i].RunID, err)
			}
		}
		return nil
	}
	if contract == nil {
		return judged, ask(db)
	}
	return judged, analysis.WithSLO(ctx, path, runs, contract.SLO, ask, analysis.VerdictReads, figuresQuery)
}

// shape measures how far the run's lengths are from the contract's traffic. Whether so few requests can tell is part of the answer.
func (j *Judged) shape(ctx context.Context, db *sql.DB, contract *Contract) error {
	wanted, err := lengthsOf(ctx, db, contract.Shape.Source)
	if err != nil {
		return hint.Misuse("contract: shape: %w", err).Hint("%s", hintOr(err, "name a source of the warehouse, a run, or the file of a plan"))
	}
	sent, _, err := workload.LengthsOfRun(ctx, db, j.RunID)
	if err != nil {
		return err
	}
	input, output := profile.Distances(sent, wanted)
	inputChance, outputChance := profile.ByChance(sent, wanted)
	j.Distance = new(max(input.KS, output.KS))
	isBeyond := func(apart, chance profile.Distance) bool {
		return apart.KS > max(contract.Shape.DistanceAtMost, chance.KS)
	}
	switch {
	case *j.Distance <= contract.Shape.DistanceAtMost:
		j.facts["is_shape_within"] = new(true)
	case isBeyond(input, inputChance) || isBeyond(output, outputChance):
		j.facts["is_shape_within"] = new(false)
	}
	return nil
}

// lengthsOf are those of a run, of a plan file or of a source.
func lengthsOf(ctx context.Context, db *sql.DB, name string) (profile.Lengths, error) {
	if plan.IsFile(name) {
		return lengthsOfPlan(name)
	}
	if l, isRun, err := workload.LengthsOfRun(ctx, db, name); isRun || err != nil {
		return l, err
	}
	return workload.Lengths(ctx, db, name, workload.Window{})
}

func lengthsOfPlan(path string) (l profile.Lengths, err error) {
	p, err := plan.Open(path)
	if err != nil {
		return l, err
	}
	for request, err := range p.Requests() {
		if err != nil {
			return l, err
		}
		l.Pairs = append(l.Pairs, profile.Pair{Input: request.InputTokens, Output: request.OutputTokens, Count: 1})
	}
	return l, nil
}

// figuresQuery also tells what a judged copy of the run must be filled with.
const figuresQuery = `
select
    coalesce(runs.name, ''),
    coalesce(macros.configuration_settings(asked.deployment), ''),
    runs.origin = 'rehearsed',
    runs.p50_tpot_s,
    runs.predicted_tpot_s,
    runs.slowdown_ratio,
    goodput.price_per_gpu_hour,
    goodput.cost_per_million_accepted_tokens,
    coalesce(regimes.is_confirmed, regimes.is_memory_bound)
from marts.runs
inner join staging.runs as asked on asked.run_id = runs.run_id
left join marts.goodput on goodput.run_id = runs.run_id
left join marts.regimes on regimes.run_id = runs.run_id
where runs.run_id = ?`

// ask gathers the run's figures and facts, and walks the tree.
func (j *Judged) ask(ctx context.Context, db *sql.DB, contract *Contract) error {
	verdict, err := analysis.JudgeSLO(ctx, db, j.RunID)
	if err != nil {
		return err
	}
	j.MeasuredOn, j.SLO, j.Outcome, j.FirstLine = verdict.MeasuredOn, verdict.Name, verdict.Outcome, verdict.FirstLine()
	for _, o := range verdict.Objectives {
		j.Objectives = append(j.Objectives, Objective{o.Metric, o.Percentile, o.Class, o.AtMost, o.Observed, o.Low, o.High, o.Samples, o.Outcome, o.String()})
	}
	var isMemoryBound *bool
	err = db.QueryRowContext(ctx, figuresQuery, j.RunID).Scan(&j.Name, &j.settings, &j.isRehearsed, &j.TPOT, &j.Predicted, &j.Slowdown, &j.Price, &j.Cost, &isMemoryBound)
	if err != nil {
		return err
	}
	j.facts["is_valid"] = new(verdict.IsValid)
	j.facts["has_environment"] = new(!verdict.IsDraft)
	j.facts["has_slo"] = new(len(verdict.Objectives) > 0)
	j.facts["has_contract"] = new(contract != nil)
	j.facts["is_memory_bound"] = isMemoryBound
	if verdict.Outcome == analysis.Met || verdict.Outcome == analysis.NotMet {
		j.facts["is_met"] = new(verdict.Outcome == analysis.Met)
	}
	if contract != nil && j.Cost != nil {
		j.facts["is_cost_within"] = new(*j.Cost <= contract.Cost.USDPerMillionAtMost)
	}
	binding := binds(verdict)
	j.facts["is_failure_binding"] = new(binding == metric.FailureRatio)
	j.facts["is_ttft_binding"] = new(strings.HasPrefix(binding, metric.TTFT))
	j.facts["is_token_binding"] = new(binding == metric.TPOT || binding == metric.ITL)
	return j.walk(ctx, db)
}

// binds is the metric of the objective that is farthest beyond its bound, of those that are not met. Failures come first: latencies are
// those of the requests that survived.
func binds(v analysis.SLOVerdict) (binding string) {
	farthest := 0.0
	for _, o := range v.Objectives {
		if o.Outcome != analysis.NotMet {
			continue
		}
		if o.Metric == metric.FailureRatio {
			return o.Metric
		}
		beyond := 1.0 // only the number of requests beyond it is known
		if o.Observed != nil {
			beyond = *o.Observed / o.AtMost
		}
		if beyond > farthest {
			farthest, binding = beyond, o.Metric
		}
	}
	return binding
}

// walk follows the tree by the facts.
func (j *Judged) walk(ctx context.Context, db *sql.DB) error {
	facts, err := json.Marshal(j.facts)
	if err != nil {
		return err
	}
	return warehouse.Each(ctx, db, `
select
    coalesce(question, ''),
    coalesce(answer, ''),
    coalesce(status, ''),
    coalesce(rule, '')
from macros.decision_path(?::varchar)
order by step`, []any{string(facts)}, func(scan func(...any) error) error {
		var step Step
		err := scan(&step.Question, &step.Answer, &j.status, &j.Rule)
		if step.Question != "" {
			j.Path = append(j.Path, step)
		}
		return err
	})
}

func hintOr(err error, otherwise string) string {
	if todo := hint.Of(err); todo != "" {
		return todo
	}
	return otherwise
}
