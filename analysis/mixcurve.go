//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/metric"
	"tidemark/analysis/queueing"
	"tidemark/internal/deployment"
)

// The curve of a mix on a deployment: what the warehouse says about each batch size (macros.mix_curve), handed to package queueing, which knows
// no database. A curve has a point per batch, from one that is mostly idle to the largest that fits; neighbours differ by a seventh.

// mixCurve is the curve of a mix on one replica of a deployment, with what else the warehouse knows about that deployment: the band of its
// predictions, its price, and which tables and calibrations its constants come from.
type mixCurve struct {
	queueing.Curve
	band           float64 // half the 90 % band, as a ratio
	gpu            string  // as the catalogue calls it
	usdPerGPUHour  *float64
	priceLabel     string
	experts, basis string // which table experts are from, which calibration the constants are
}

// mixQuestion asks for one curve. Clients matter only for a closed loop, whose prompts come in bunches of that many clients.
type mixQuestion struct {
	deployment.Deployment
	Mix     queueing.Mix
	Clients float64 // of one replica
}

// mixCurveQuery has a row per question and batch. Its parameter is the list of questions as JSON. If a GPU has several prices the one in the
// first place counts: a user's own before a built-in one, and the latest of these.
const mixCurveQuery = `
with asked as (
    select
        unnest(range(len(asked))) as place,
        unnest(asked) as one
    from (select from_json(?::json, '[{
        "deployment": "JSON", "clients": "DOUBLE",
        "parts": [{"share": "DOUBLE", "uncached": "DOUBLE", "cached": "DOUBLE", "output": "DOUBLE", "context": "DOUBLE"}]
    }]') as asked)
),

deployments as (
    select *
    from macros.deployments((
        select list({'place': place, 'asked': one.deployment, 'constants': null::map(varchar, double)}) from asked
    ))
)

select
    asked.place,
    deployment.gpu,
    macros.step_band_ratio(deployment.d, 16, 2000) as band_ratio,
    deployment.max_num_batched_tokens,
    deployment.max_num_seqs,
    deployment.request_s,
    deployment.request_token_s,
    deployment.experts_from,
    deployment.calibration,
    macros.kv_capacity_tokens(deployment.d) as kv_tokens,
    prices.usd_per_gpu_hour,
    prices.label,
    curve.*
from asked
inner join deployments as deployment on deployment.place = asked.place
cross join lateral macros.mix_curve(deployment.d, asked.one.parts, nullif(asked.one.clients, 0)) as curve
left join macros.prices() as prices
    on prices.gpu = deployment.gpu
    and prices.place = 1
order by
    asked.place,
    curve.batch`

// mixCurves asks for all curves in one query, because DuckDB takes longer to plan it than to run it. The questions go in as one JSON
// parameter. The curve of a deployment that the catalogue does not know is nil.
func mixCurves(ctx context.Context, db *sql.DB, questions []mixQuestion) ([]*mixCurve, error) {
	type asked struct {
		Deployment json.RawMessage `json:"deployment"` // the argument of macros.deployment
		Clients    float64         `json:"clients"`
		Parts      []queueing.Part `json:"parts"`
	}
	curves := make([]*mixCurve, len(questions))
	all := make([]asked, len(questions))
	for i, q := range questions {
		all[i] = asked{json.RawMessage(q.Deployment.SQL()), q.Clients, q.Mix.Parts}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	table, err := ask(ctx, db, mixCurveQuery, string(text))
	if err != nil {
		return nil, fmt.Errorf("mix: %w", err)
	}
	for _, row := range table.Records() {
		place := row["place"].(int64)
		if curves[place] == nil {
			curves[place] = curveOf(row, questions[place].Mix)
		}
		curves[place].Points = append(curves[place].Points, pointOf(row))
	}
	for _, curve := range curves {
		if curve != nil {
			curve.LimitBySlots()
		}
	}
	return curves, nil
}

// curveOf reads the columns that all rows of one question have in common. The replicas are set later, because scenarios share a curve.
func curveOf(row map[string]any, mix queueing.Mix) *mixCurve {
	c := &mixCurve{band: number(row["band_ratio"])}
	c.Curve = queueing.Curve{
		Mix: mix, Budget: number(row["max_num_batched_tokens"]), MaxNumSeqs: number(row["max_num_seqs"]), RequestS: number(row["request_s"]), TokenS: number(row["request_token_s"]),
		Replicas: 1,
	}
	c.gpu, _ = row["gpu"].(string)
	c.experts, _ = row["experts_from"].(string)
	c.basis, _ = row["calibration"].(string)
	c.priceLabel, _ = row["label"].(string)
	if usd := number(row["usd_per_gpu_hour"]); !math.IsNaN(usd) {
		c.usdPerGPUHour = &usd
	}
	return c
}

// pointOf reads one batch. Only an open loop has a wait that grows with burstiness: clients of a closed loop never come unasked.
func pointOf(row map[string]any) queueing.Point {
	return queueing.Point{
		Batch: number(row["batch"]), FloorS: number(row["floor_s"]), StepS: number(row["step_s"]), PromptS: number(row["prompt_s"]),
		Gaps: number(row["gaps"]), ScatterS: number(row["scatter_s"]), Clients: number(row["closed_clients"]),
		Open: queueing.Flow{
			PerS: number(row["open_per_s"]), TPOTS: number(row["open_tpot_s"]), WaitS: number(row["open_wait_s"]), BurstS: number(row["open_burst_s"]),
		},
		Closed:   queueing.Flow{PerS: number(row["closed_per_s"]), TPOTS: number(row["closed_tpot_s"]), WaitS: number(row["closed_wait_s"])},
		PromptsS: numbers(row["prompts_s"]), FirstsS: numbers(row["first_tokens_s"]),
	}
}

// number is a number of a Table's row, whole or not; NaN for null.
func number(value any) float64 {
	switch v := value.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		return math.NaN()
	}
}

// numbers is a list of a Table's row.
func numbers(value any) []float64 {
	list, _ := value.([]any)
	all := make([]float64, len(list))
	for i := range list {
		all[i] = number(list[i])
	}
	return all
}

// of is the predicted value of an objective's metric, in seconds, and NaN for a metric that is not predicted. From due and from sent are the
// same here, because the model's client is never late.
func (c *mixCurve) of(s queueing.State, o Objective) float64 {
	switch o.Metric {
	case metric.TTFT, metric.TTFTFromDue:
		return c.TTFT(s, o.Percentile, o.Class)
	case metric.TPOT:
		return c.TPOT(s, o.Percentile, o.Class)
	case metric.ITL:
		return c.ITL(s, o.Percentile)
	case metric.E2E, metric.E2EFromDue:
		return c.E2E(s, o.Percentile, o.Class)
	default:
		return math.NaN()
	}
}

// mostCalmWaiting is the share of requests that may wait for a slot without affecting a p99. How long they wait is not predicted, so with
// more of them the p99 is withheld.
const mostCalmWaiting = 0.01

// calmestPerS is the largest rate at which waits for a slot affect none of an SLO's objectives. Infinite: no objective includes such a wait.
func (c *mixCurve) calmestPerS(slo SLO) float64 {
	calm := math.Inf(1)
	for _, o := range slo.Objectives {
		if o.isWaitedFor() {
			calm = min(calm, c.LargestRateWaiting(o.mostWaiting()))
		}
	}
	return calm
}

// isWaitedFor says whether an objective's time includes a wait for a slot. TPOT and ITL start with the first token, when the wait is over.
func (o Objective) isWaitedFor() bool {
	return slices.Contains([]string{metric.TTFT, metric.TTFTFromDue, metric.E2E, metric.E2EFromDue}, o.Metric)
}

// mostWaiting is the share of requests that may wait for a slot without affecting the objective: fewer than lie beyond its percentile.
func (o Objective) mostWaiting() float64 { return min(mostCalmWaiting, 1-o.Percentile/100) }
