//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"tidemark/internal/deployment"
)

// mixCurve is what a mix does to one replica of a deployment at each batch, as macros.mix_curve says it.
type mixCurve struct {
	mix    Mix
	points []mixPoint // the batch grows, and with it rates and clients

	burst          float64 // the squared cv of the gaps at one replica, less 1
	band           float64 // half the 90 % band, as a ratio
	budget         float64 // tokens of a step
	gpu            string  // as the catalogue calls it
	usdPerGPUHour  *float64
	priceLabel     string
	experts, basis string // which table experts are from, which calibration the constants are
	kvTokens       float64

	replicas     float64 // that share the arrivals
	slots        float64 // requests that one replica takes at once
	maxNumSeqs   float64
	requestS     float64 // of a request before and after its steps, in which it holds no slot
	mostOpenPerS float64 // the largest rate at which slots and steps suffice
	calm         map[[2]float64]float64
}

type mixPoint struct {
	batch, floorS, stepS, promptS, gaps, scatterS float64
	open, closed                                  mixFlow
	clients                                       float64 // of a closed loop
	promptsS, firstsS                             []float64
}

// mixFlow is what an open or a closed loop makes of a batch.
type mixFlow struct {
	perS, tpotS, waitS float64
	burstS             float64 // what a wait grows by for each unit by which the squared cv of the gaps is above 1
}

// mixQuestion is one curve to be worked out.
type mixQuestion struct {
	deployment.Deployment
	Mix     Mix
	Clients float64 // of one replica
}

const mixCurveQuery = `
with asked as (
    select
        unnest(range(len(asked))) as place,
        unnest(asked) as one
    from (select from_json(?::json, '[{
        "deployment": "JSON", "clients": "DOUBLE",
        "parts": [{"share": "DOUBLE", "uncached": "DOUBLE", "cached": "DOUBLE", "output": "DOUBLE", "context": "DOUBLE"}]
    }]') as asked)
)

select
    asked.place,
    deployment.gpu,
    deployment.band_ratio,
    deployment.max_num_batched_tokens,
    deployment.max_num_seqs,
    deployment.request_s,
    deployment.experts_from,
    deployment.calibration,
    macros.kv_capacity_tokens(deployment.d) as kv_tokens,
    prices.usd_per_gpu_hour,
    prices.label,
    curve.*
from asked
cross join lateral macros.deployment(asked.one.deployment) as deployment
cross join lateral macros.mix_curve(deployment.d, asked.one.parts, nullif(asked.one.clients, 0)) as curve
left join macros.prices() as prices
    on prices.gpu = deployment.gpu
    and prices.place = 1
order by
    asked.place,
    curve.batch`

// mixCurves asks for all at once. A deployment that is not known has no curve: nil.
func mixCurves(ctx context.Context, db *sql.DB, questions []mixQuestion) ([]*mixCurve, error) {
	type asked struct {
		Deployment json.RawMessage `json:"deployment"` // the argument of macros.deployment
		Clients    float64         `json:"clients"`
		Parts      []Part          `json:"parts"`
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
	for _, cells := range table.Rows {
		row := map[string]any{}
		for i, column := range table.Columns {
			row[column.Name] = cells[i]
		}
		place := row["place"].(int64)
		if curves[place] == nil {
			curves[place] = curveOf(row, questions[place].Mix)
		}
		curves[place].points = append(curves[place].points, pointOf(row))
	}
	for _, curve := range curves {
		if curve != nil {
			curve.limitBySlots()
		}
	}
	return curves, nil
}

func curveOf(row map[string]any, mix Mix) *mixCurve {
	c := &mixCurve{mix: mix, band: number(row["band_ratio"]), budget: number(row["max_num_batched_tokens"]), kvTokens: number(row["kv_tokens"])}
	c.requestS, c.replicas = number(row["request_s"]), 1
	c.maxNumSeqs = number(row["max_num_seqs"])
	c.gpu, _ = row["gpu"].(string)
	c.experts, _ = row["experts_from"].(string)
	c.basis, _ = row["calibration"].(string)
	c.priceLabel, _ = row["label"].(string)
	if usd := number(row["usd_per_gpu_hour"]); !math.IsNaN(usd) {
		c.usdPerGPUHour = &usd
	}
	return c
}

func pointOf(row map[string]any) mixPoint {
	p := mixPoint{
		batch: number(row["batch"]), floorS: number(row["floor_s"]), stepS: number(row["step_s"]), promptS: number(row["prompt_s"]),
		gaps: number(row["gaps"]), scatterS: number(row["scatter_s"]), clients: number(row["closed_clients"]),
		open:   mixFlow{number(row["open_per_s"]), number(row["open_tpot_s"]), number(row["open_wait_s"]), number(row["open_burst_s"])},
		closed: mixFlow{number(row["closed_per_s"]), number(row["closed_tpot_s"]), number(row["closed_wait_s"]), 0},
	}
	p.promptsS, p.firstsS = numbers(row["prompts_s"]), numbers(row["first_tokens_s"])
	return p
}

// number is a value as it comes of the driver; NaN: there is none.
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

func numbers(value any) []float64 {
	list, _ := value.([]any)
	all := make([]float64, len(list))
	for i := range list {
		all[i] = number(list[i])
	}
	return all
}

// mixState is one replica under a load.
type mixState struct {
	mixPoint
	flow    mixFlow
	perS    float64 // requests that are served
	waitS   float64 // of all, before a prompt's work begins, beyond the scatter of prompts: for a place
	isFull  bool
	prompts float64 // share of the time that prompts take
	others  float64 // share of the prompts that are others': a stream never waits for its own
}

// at is a replica under an open loop of so many requests a second, or under so many clients, were all its times longer by
// a factor.
func (c *mixCurve) at(load float64, isOpen bool, slower float64) mixState {
	wanted := load
	measure := func(p mixPoint) float64 { return p.clients }
	if isOpen {
		// What takes twice as long is the same thing at half the rate.
		wanted = load * slower
		measure = func(p mixPoint) float64 { return p.open.perS }
	}
	isBeyondSlots := isOpen && wanted > c.mostOpenPerS
	if isBeyondSlots {
		wanted = c.mostOpenPerS
	}
	last := len(c.points) - 1
	i := sort.Search(len(c.points), func(i int) bool { return measure(c.points[i]) > wanted })
	s := mixState{others: 1}
	switch {
	case i == 0:
		s.mixPoint = c.points[0]
		if share := wanted / measure(s.mixPoint); isOpen { // fewer still: nearly nobody is met
			s.batch, s.open.perS = s.batch*share, wanted
			s.open.waitS, s.open.burstS = s.open.waitS*share, s.open.burstS*share
		}
	case i > last:
		s.mixPoint, s.isFull = c.points[last], true
	default:
		from, to := c.points[i-1], c.points[i]
		s.mixPoint = between(from, to, math.Log(wanted/measure(from))/math.Log(measure(to)/measure(from)))
		if isOpen {
			s.open.perS = wanted
		}
	}
	s.isFull = s.isFull || isBeyondSlots
	s.flow = s.open
	if !isOpen {
		s.flow, s.others = s.closed, 1-1/max(1, load)
		if s.isFull { // who waits for a place, by Little's law, has waited for all else
			s.waitS = s.gaps * s.flow.tpotS * (load/s.batch - 1)
			s.flow.waitS = 0
		}
	} else if s.isFull {
		s.waitS = math.Inf(1)
	}
	s.flow.waitS += c.burst * s.flow.burstS
	s.stretch(slower)
	if !isOpen && !s.isFull { // each client sends again when it is served
		s.perS = load / (c.meanTTFT(s) + s.gaps*s.flow.tpotS)
	}
	return s
}

// stretch makes all times longer by a factor.
func (s *mixState) stretch(slower float64) {
	s.prompts = s.flow.perS * s.promptS
	s.perS = s.flow.perS / slower
	s.stepS *= slower
	s.flow.tpotS *= slower
	s.flow.waitS *= slower
	s.waitS *= slower
	s.scatterS *= slower
	s.promptsS, s.firstsS = times(s.promptsS, slower), times(s.firstsS, slower)
}

func times(values []float64, factor float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = v * factor
	}
	return all
}

// between is on the way from one point of a curve to the next: neighbours differ by a seventh.
func between(from, to mixPoint, share float64) mixPoint {
	mean := func(a, b float64) float64 { return a + share*(b-a) }
	flow := func(a, b mixFlow) mixFlow {
		return mixFlow{mean(a.perS, b.perS), mean(a.tpotS, b.tpotS), mean(a.waitS, b.waitS), mean(a.burstS, b.burstS)}
	}
	p := mixPoint{
		batch: from.batch * math.Pow(to.batch/from.batch, share), floorS: mean(from.floorS, to.floorS), stepS: mean(from.stepS, to.stepS),
		promptS: mean(from.promptS, to.promptS), gaps: from.gaps, scatterS: mean(from.scatterS, to.scatterS), clients: mean(from.clients, to.clients),
		open: flow(from.open, to.open), closed: flow(from.closed, to.closed),
		promptsS: make([]float64, len(from.promptsS)), firstsS: make([]float64, len(from.firstsS)),
	}
	for i := range p.promptsS {
		p.promptsS[i], p.firstsS[i] = mean(from.promptsS[i], to.promptsS[i]), mean(from.firstsS[i], to.firstsS[i])
	}
	return p
}

// mostPerS is the largest rate of an open loop that one replica can be kept at.
func (c *mixCurve) mostPerS(slower float64) float64 {
	return c.mostOpenPerS / slower
}
