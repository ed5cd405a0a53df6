package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/parallel"
)

// Many predictions at once. The bandwidth model is in SQL (queries/macros/load.sql, step.sql): a load makes
// a batch, a batch makes a step time, and the step time makes the load's times. This file hands deployments and loads over as two JSON
// lists, because DuckDB needs longer to plan such a question than to answer it, so that a hundred points cost little more than one. Equal
// deployments are handed over once, and a long table is done in parts. It reads the answers back and says why a point has none:
//
//   - the point contradicts itself (Load.Check, Deployment.Check);
//   - the catalogue lacks its GPU, model or format (whyNot, by Resolve);
//   - the model does not fit the memory, or the request does not fit the cache or the context (in predictQuery).
//
// Such a point is an answer and not an error, because a table of a thousand points should not fail for one of them.

// Load is the traffic of one deployment: a closed loop of Clients, each of which sends again when it is served, or else an open loop of
// RequestsPerS, however many are in flight; or a static batch, of one request from each client. Lengths are means in tokens. The bandwidth model is a mean-field model, so it needs no more than
// means; a mix of lengths is what-if's question.
type Load struct {
	Clients       float64 `json:"clients,omitempty"`
	RequestsPerS  float64 `json:"requests_per_s,omitempty"`
	InputTokens   float64 `json:"input"`
	OutputTokens  float64 `json:"output"`
	CachedTokens  float64 `json:"cached"`          // of the prompt, found in a cache
	Drafts        float64 `json:"drafts"`          // tokens that a speculating engine guesses a step
	TokensPerStep float64 `json:"tokens_per_step"` // that a step yields, the one certain token included; 0: one
	IsStatic      bool    `json:"is_static"`       // all Clients send one request at once, as an offline batch does, and no more

	AcceptanceRate *float64 `json:"acceptance_rate,omitempty"` // chance that a draft is kept if all before it were; TokensPerStep follows from it
}

// Point is one configuration to predict: a load on a deployment.
type Point struct {
	deployment.Deployment
	Load
	Constants map[string]float64 // values that come before those of the warehouse, by name or by "name format"
}

// Prediction is what the bandwidth model says of a Point; macros.prediction documents its numbers. Times are seconds, and the terms are
// seconds per token. If Why is not empty it says why there is no prediction, and all numbers are NaN.
type Prediction struct {
	Why string

	FloorTPOT, TPOT, Low, High float64
	WeightsOverPeak            float64             // all weights of a step over peak bandwidth: a habit, not the prediction
	Terms                      [len(terms)]float64 // in the order of TermNames; they add up to TPOT
	Batch, ContextTokens       float64
	TTFT, LowTTFT, HighTTFT    float64
	TTFTTerms                  [len(ttftTerms)]float64 // in the order of TTFTTermNames; they add up to TTFT
	ITLP99                     float64
	MBU, MFU                   float64
	RequestsPerS, OutputPerS   float64 // of one replica
	IsFull                     bool    // as many run as can: others wait
	IsMixed                    bool    // more than one step in a hundred has a chunk of a prompt in it
	IsStable                   bool    // the load can be served at all
	KVCapacityTokens           float64
	ExpertsFrom                string // which kernel table, or "law"; empty without experts
	GPUKinship                 string // how near the nearest GPU is that was measured, as macros.gpus says
	TermsFrom                  string // what each term rests on: the law or a kernel table
	Calibration                string // which calibration the constants are from; empty: none
}

// terms of a time per token, as columns of macros.prediction.
var terms = [...]string{
	"weights_s", "experts_s", "kv_s", "arithmetic_s", "layers_s", "allreduce_s", "host_s", "draft_s", "prefill_s",
}

// TermNames are the columns that Prediction.Terms stands for, in its order: what is streamed from memory first (weights, experts, KV cache),
// then arithmetic, fixed times, communication, host and draft time, and last the prompts of others. A chart stacks them in this order.
func TermNames() []string { return terms[:] }

// ttftTerms are those of a time to first token.
var ttftTerms = [...]string{"ttft_request_s", "ttft_wait_s", "ttft_prompt_s", "ttft_steps_s"}

// TTFTTermNames are the columns that Prediction.TTFTTerms stands for, in the order in which a request goes through them.
func TTFTTermNames() []string { return ttftTerms[:] }

// numberColumns are the numbers of a prediction as columns of macros.prediction, in the order in which a table of predictions has them.
// The last is not of the load but of the deployment.
var numberColumns = slices.Concat(
	[]string{"floor_tpot_s", "predicted_tpot_s", "low_s", "high_s"}, TermNames(),
	[]string{"ttft_s", "low_ttft_s", "high_ttft_s"}, TTFTTermNames(),
	[]string{"itl_p99_s", "batch", "context_tokens", "mbu_ratio", "mfu_ratio", "requests_per_s", "output_tokens_per_s",
		"kv_capacity_tokens"},
)

// numbers are where a prediction keeps the values of numberColumns, one by one. Reading, blanking and printing a prediction all go
// through this list, so that no two of them can differ in their order.
func (p *Prediction) numbers() []*float64 {
	all := []*float64{&p.FloorTPOT, &p.TPOT, &p.Low, &p.High}
	for i := range p.Terms {
		all = append(all, &p.Terms[i])
	}
	all = append(all, &p.TTFT, &p.LowTTFT, &p.HighTTFT)
	for i := range p.TTFTTerms {
		all = append(all, &p.TTFTTerms[i])
	}
	return append(all, &p.ITLP99, &p.Batch, &p.ContextTokens, &p.MBU, &p.MFU, &p.RequestsPerS, &p.OutputPerS, &p.KVCapacityTokens)
}

// Predict asks the model about many points at once and answers in their order. A point that cannot be predicted has a Why; an error means
// that the warehouse could not be asked.
func Predict(ctx context.Context, db *sql.DB, points []Point) ([]Prediction, error) {
	return predict(ctx, db, points, nil)
}

// predict takes the row of the points' one deployment if the caller has it already.
func predict(ctx context.Context, db *sql.DB, points []Point, known *deploymentRow) ([]Prediction, error) {
	predictions := make([]Prediction, len(points))
	var asked []askedLoad
	places := map[string]int{}
	var deployments []askedDeployment
	for i, p := range points {
		if err := errors.Join(p.Deployment.Check(), p.Load.Check()); err != nil {
			predictions[i] = nothing(strings.ReplaceAll(err.Error(), "\n", "; ")) // a cell of a table holds one line
			continue
		}
		key := fmt.Sprint(p.Deployment, p.Constants)
		place, known := places[key]
		if !known {
			place = len(deployments)
			places[key] = place
			deployments = append(deployments, askedDeployment{p.Deployment.Normal(), p.Constants})
		}
		asked = append(asked, askedLoad{i, place, p.Load.perReplica(p.Deployment)})
	}
	if len(asked) == 0 {
		return predictions, nil
	}
	whys := map[int]string{}
	answered := map[int]bool{}
	var err error
	if known != nil {
		answered, err = fillInParts(ctx, db, known.inPlace(0), asked, predictions)
	} else if whys, err = readModels(ctx, db, deployments); err == nil {
		answered, err = fillByDeployment(ctx, db, deployments, asked, predictions)
	}
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		if answered[a.Seq] {
			continue
		}
		if whys[a.Deployment] == "" {
			if whys[a.Deployment], err = whyNot(ctx, db, deployments[a.Deployment].Deployment); err != nil {
				return nil, err
			}
		}
		predictions[a.Seq] = nothing(whys[a.Deployment])
	}
	return predictions, nil
}

// readModels replaces each model that is a path by the text of its config.json. whys says for which places that failed, and why: a file that is
// not there or not understood keeps its points from being predicted, but not the others.
func readModels(ctx context.Context, db *sql.DB, deployments []askedDeployment) (whys map[int]string, err error) {
	whys = map[int]string{}
	type reading struct {
		model string
		err   error
	}
	readings := map[string]reading{} // a table has a row for each load, and few models
	for i, d := range deployments {
		read, known := readings[d.CatalogModel]
		if !known {
			read.model, read.err = readModel(ctx, db, d.CatalogModel)
			readings[d.CatalogModel] = read
		}
		var answer *hint.Error
		if read.err != nil && !errors.As(read.err, &answer) {
			return nil, read.err
		}
		if read.err != nil {
			whys[i] = read.err.Error()
			continue
		}
		deployments[i].CatalogModel = read.model
	}
	return whys, nil
}

// atOnce is how many deployments are resolved together, and how many points are predicted together. However long the table is, a part then
// takes some 300 MB; and the time that DuckDB plans it, as long as a thousand rows take, is spent once for many.
var atOnce = 2000

// fillByDeployment resolves the deployments part by part, and predicts the points of each part. It says which places were answered.
func fillByDeployment(ctx context.Context, db *sql.DB, deployments []askedDeployment, asked []askedLoad, into []Prediction) (map[int]bool, error) {
	asked = slices.Clone(asked)
	slices.SortStableFunc(asked, func(a, b askedLoad) int { return a.Deployment - b.Deployment })
	answered := map[int]bool{}
	for from := 0; from < len(deployments); from += atOnce {
		until := min(from+atOnce, len(deployments))
		rows, err := deployAll(ctx, db, deployments[from:until], from)
		if err != nil {
			return nil, err
		}
		of := 0
		for of < len(asked) && asked[of].Deployment < until {
			of++
		}
		part, err := fillInParts(ctx, db, rows, asked[:of], into)
		if err != nil {
			return nil, err
		}
		maps.Copy(answered, part)
		asked = asked[of:]
	}
	return answered, nil
}

// fillInParts asks on several connections at once, at most one per processor. DuckDB itself works on a few thousand rows with a single
// thread. Each part writes to places of its own in into; only the map of answered places is shared and needs the lock.
func fillInParts(ctx context.Context, db *sql.DB, rows deploymentRow, asked []askedLoad, into []Prediction) (map[int]bool, error) {
	var mu sync.Mutex
	answered := map[int]bool{}
	parts := slices.Collect(slices.Chunk(asked, atOnce))
	err := parallel.Do(len(parts), func(i int) error {
		of, err := fillPredictions(ctx, db, rows, parts[i], into)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(answered, of)
		return err
	})
	return answered, err
}

// whyNot says why the model does not know a deployment.
func whyNot(ctx context.Context, db *sql.DB, d deployment.Deployment) (string, error) {
	err := mistake(ctx, db, d)
	var answer *hint.Error
	if errors.As(err, &answer) {
		return err.Error(), nil
	}
	return "", err
}

// nothing is a prediction without numbers, and why.
func nothing(why string) Prediction {
	p := Prediction{Why: why, WeightsOverPeak: math.NaN()}
	for _, number := range p.numbers() {
		*number = math.NaN()
	}
	return p
}

// askedDeployment is one deployment of predictQuery, used by all points that have it; constants come before those of the warehouse.
type askedDeployment struct {
	deployment.Deployment
	constants map[string]float64
}

// askedLoad is one point of predictQuery: its place among the points, and the place of its deployment among the deployments.
type askedLoad struct {
	Seq        int  `json:"seq"`
	Deployment int  `json:"deployment"`
	Load       Load `json:"load"`
}

// perReplica is the load of one replica: data parallelism shares requests evenly.
func (l Load) perReplica(d deployment.Deployment) Load {
	replicas := float64(max(d.DataParallelSize, 1))
	l.Clients /= replicas
	l.RequestsPerS /= replicas
	l.TokensPerStep = cmp.Or(l.TokensPerStep, 1)
	return l
}

// Check refuses a load that contradicts itself, such as more cached tokens than prompt tokens.
func (l Load) Check() error {
	for _, q := range []struct {
		name  string
		value float64
		least float64
	}{
		{"concurrency", l.Clients, 0}, {"request rate", l.RequestsPerS, 0}, {"input tokens", l.InputTokens, 1}, {"output tokens", l.OutputTokens, 1},
		{"cached tokens", l.CachedTokens, 0}, {"draft tokens", l.Drafts, 0}, {"tokens per step", l.TokensPerStep, 0},
	} {
		if math.IsNaN(q.value) || math.IsInf(q.value, 0) {
			return fmt.Errorf("%s: not a number", q.name)
		}
		if q.value < q.least {
			return fmt.Errorf("%s: %v, at least %v is needed", q.name, q.value, q.least)
		}
	}
	if l.Clients == 0 && l.RequestsPerS == 0 {
		return errors.New("no load: a concurrency or a request rate above 0 is needed")
	}
	if l.Clients > 0 && l.Clients < 1 {
		return fmt.Errorf("concurrency: %v, at least one client is needed", l.Clients)
	}
	if l.IsStatic && l.Clients == 0 {
		return errors.New("static batch: its requests are missing, a concurrency above 0")
	}
	if l.CachedTokens > l.InputTokens {
		return fmt.Errorf("cached tokens: %v of a prompt of %v", l.CachedTokens, l.InputTokens)
	}
	if a := l.AcceptanceRate; a != nil && !(*a >= 0 && *a <= 1) {
		return fmt.Errorf("acceptance rate: %v is not between 0 and 1", *a)
	}
	if l.Drafts > 0 && l.AcceptanceRate == nil && l.TokensPerStep == 0 {
		return errors.New("speculation: how many drafts are kept is missing: an acceptance rate, or an acceptance length")
	}
	if l.TokensPerStep != 0 && l.TokensPerStep < 1 {
		return fmt.Errorf("tokens per step: %v, at least 1 is certain", l.TokensPerStep)
	}
	if l.TokensPerStep > l.Drafts+1 {
		return fmt.Errorf("tokens per step: %v of %v drafts, at most one more than these is possible", l.TokensPerStep, l.Drafts)
	}
	return nil
}

// loadColumns are askedLoad's fields as DuckDB reads them. A field that JSON leaves out is null there.
const loadColumns = `[{
    "seq": "BIGINT", "deployment": "BIGINT",
    "load": {
        "clients": "DOUBLE", "requests_per_s": "DOUBLE", "input": "DOUBLE", "output": "DOUBLE", "cached": "DOUBLE",
        "drafts": "DOUBLE", "tokens_per_step": "DOUBLE", "is_static": "BOOLEAN", "acceptance_rate": "DOUBLE"
    }
}]`

// fillPredictions asks one question for all of asked, and says which places were answered. A deployment that the catalogue does not know
// has no row in the answer.
func fillPredictions(ctx context.Context, db *sql.DB, rows deploymentRow, asked []askedLoad, into []Prediction) (map[int]bool, error) {
	answered := map[int]bool{}
	if rows.structure == "" {
		return answered, nil // the catalogue knows none of the deployments
	}
	loadText, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	args := []any{rows.row, string(loadText), loadColumns}
	err = each(ctx, db, rows.listed()+predictQuery, args, func(scan func(...any) error) error {
		var seq int
		var p Prediction
		to := []any{&seq, &p.WeightsOverPeak, &p.ExpertsFrom, &p.GPUKinship, &p.TermsFrom, &p.Calibration, &p.IsFull, &p.IsMixed, &p.IsStable, &p.Why}
		for _, number := range p.numbers() {
			to = append(to, number)
		}
		if err := scan(to...); err != nil {
			return err
		}
		if p.Why != "" {
			p = nothing(p.Why)
		}
		into[seq], answered[seq] = p, true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	return answered, nil
}

// deployAll computes the rows of many deployments, as a list of {place, d}; the first has the place `from`. A deployment that the catalogue does
// not know has none; with no row at all the structure is empty.
func deployAll(ctx context.Context, db *sql.DB, deployments []askedDeployment, from int) (deploymentRow, error) {
	type one struct {
		Place     int                `json:"place"`
		Asked     json.RawMessage    `json:"asked"` // the argument of macros.deployment
		Constants map[string]float64 `json:"constants"`
	}
	var all []one
	for i, d := range deployments {
		all = append(all, one{from + i, json.RawMessage(d.SQL()), d.constants})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return deploymentRow{}, fmt.Errorf("predict: %w", err)
	}
	var row, structure sql.NullString
	err = askRow(ctx, db, `
select
    to_json(list({'place': place, 'd': d}))::varchar,
    any_value(typeof(d))
from macros.deployments(from_json(?::json, '[{"place": "BIGINT", "asked": "JSON", "constants": "MAP(VARCHAR, DOUBLE)"}]'))`,
		string(text)).Scan(&row, &structure)
	if err != nil {
		return deploymentRow{}, fmt.Errorf("predict: %w", err)
	}
	return deploymentRow{row.String, structure.String}, nil
}

// inPlace is the list of one row that deployAll would make.
func (d deploymentRow) inPlace(place int) deploymentRow {
	return deploymentRow{fmt.Sprintf(`[{"place": %d, "d": %s}]`, place, d.row), d.structure}
}

// listed starts a query over the rows of deployAll, its first argument.
func (d deploymentRow) listed() string {
	return `
with deployments as (
    select unnest(rows) as deployment
    from (select ?::json::STRUCT(place BIGINT, d ` + d.structure + `)[] as rows)
),
`
}

// predictQuery goes on after deploymentRow.listed. Its further parameters are the loads with the places of their deployments, and loadColumns.
// A deployment that the catalogue does not know has no row, so its points drop out of the join. All other points
// have one row, with an empty text or the reason why they cannot be served: GPUs that cannot share the model, no room for the weights, a request longer
// than the context, or one that the KV cache cannot hold.
var predictQuery = `
points as (
    select unnest(from_json(?::json, ?)) as point
),

asked as (
    select
        point.seq,
        deployments.deployment.d as d,
        struct_update(point.load, tokens_per_step := coalesce(
            macros.accepted_per_step(point.load.acceptance_rate, point.load.drafts), point.load.tokens_per_step
        )) as l
    from points
    inner join deployments on deployments.deployment.place = points.point.deployment
),

predicted as (
    select
        asked.*,
        p
    from asked
    cross join lateral macros.prediction(asked.d, asked.l) as p
)

select
    seq,
    macros.floor_s(d, 0, 0),
    coalesce(d.experts_from, ''),
    d.gpu_kinship,
    macros.terms_from(d),
    coalesce(d.calibration, ''),
    p.is_full,
    p.is_mixed,
    p.is_stable,
    coalesce(macros.sharing_problem(d), case
        when macros.kv_capacity_tokens(d) <= 0
            then 'does not fit: the weights leave no memory for a KV cache; take more GPUs, a larger one, or a smaller weight format'
        when l.input + l.output > d.max_context_tokens
            then format(
                'input and output of {:.0f} tokens are more than the context of {}', l.input + l.output, d.max_context_tokens
            )
        when macros.kv_free_bytes(d) < macros.kv_request_bytes(d, l.input + l.output)
            then format(
                'does not fit: one request of {:.0f} tokens is more than the KV cache holds, {:.0f}',
                l.input + l.output, macros.kv_capacity_tokens(d)
            )
    end, ''),
    coalesce(p.` + strings.Join(numberColumns[:len(numberColumns)-1], ", 'nan'::double), coalesce(p.") + `, 'nan'::double),
    macros.kv_capacity_tokens(d) as kv_capacity_tokens
from predicted`
