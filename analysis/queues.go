package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"tidemark/analysis/queueing"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// Queueing formulas for people, and the stages of a measured run or a recorded trace as queues. A server has two stages: a
// prefill stage, which works on one prompt after the other, and slots, one per sequence that can run at once. Service times are predicted by
// the bandwidth model; arrivals are the recorded ones. Each stage is answered twice: by the formulas for its rate and its variation, and by
// serving the recorded requests one by one (queueing.Serve). Where the two differ, the arrivals are burstier than the formulas assume.
//
// A run whose hardware is not known has no service times, and that is an error.

// QueueModels gives the wait of a load by each formula for so many servers, one formula per row, with what it is good for. The formulas are
// macros.queue_models; only the arguments are checked here.
func QueueModels(ctx context.Context, db *sql.DB, load queueing.Load) (Table, error) {
	for _, given := range []struct {
		what  string
		value float64
		least float64
	}{
		{"arrival rate", load.RatePerS, 0}, {"service time", load.ServiceS, math.SmallestNonzeroFloat64}, {"number of servers", float64(load.Servers), 1},
		{"cv of the arrivals", load.ArrivalCV, 0}, {"cv of the service times", load.ServiceCV, 0},
	} {
		if !(given.value >= given.least) || math.IsInf(given.value, 0) { // NaN too
			return Table{}, hint.Misuse("queue: %v is no %s", given.value, given.what).
				Hint("give a number that is not negative; service time and servers above 0")
		}
	}
	return askFor(ctx, "predict queue", db, `
select
    model,
    servers,
    rate_per_s,
    service_s,
    arrival_cv,
    service_cv,
    utilization_ratio,
    waiting_ratio,
    wait_service_ratio,
    wait_s,
    time_s,
    use_for,
    not_for
from macros.queue_models(?::double, ?::double, ?::bigint, ?::double, ?::double)
order by seq`, load.RatePerS, load.ServiceS, load.Servers, load.ArrivalCV, load.ServiceCV)
}

// Overload is the backlog that grows while more requests arrive than can be served, and how long it takes to be worked off.
type Overload struct {
	BacklogRequests float64
	WaitS           float64  // of the last request
	RecoveryS       *float64 // until the backlog is gone; nil: it never is
}

// Overloaded treats requests as a fluid: they arrive at ratePerS for forS seconds, then at thenPerS. Over a long overload the backlog grows
// by rate - capacity, and randomness no longer matters.
func Overloaded(ctx context.Context, db *sql.DB, ratePerS, capacityPerS, forS, thenPerS float64) (o Overload, err error) {
	err = db.QueryRowContext(ctx, `
select
    requests,
    requests / $2::double,
    macros.recovery_s(requests, $4::double, $2::double)
from (select macros.backlog_requests($1::double, $2::double, $3::double) as requests) as grown`,
		ratePerS, capacityPerS, forS, thenPerS).Scan(&o.BacklogRequests, &o.WaitS, &o.RecoveryS)
	if err != nil {
		return o, fmt.Errorf("queue: %w", err)
	}
	return o, nil
}

// MeasuredQueue is a stage of a server with recorded arrivals and the service time of each request: its load as the formulas need it, and the
// waits that come out if the recorded requests are served one by one.
type MeasuredQueue struct {
	Stage    string // "prefill": one prompt after the other; "slots": answers in a batch
	Address  string // of a run's several, the one that most of these requests were sent to: the queue is of its requests alone
	Load     queueing.Load
	Requests int
	Served   queueing.Served // the same requests, served event by event
}

// prefillStage is one server that works on the prompts of all requests one after the other. A prompt's service time is what its uncached
// tokens add to the steps of the requests that decode, by the bandwidth model.
const prefillStage = "prefill"

// slotStage has as many servers as sequences run at once. Service is from the start of the prefill to the last token.
const slotStage = "slots"

// QueuesOfRun gives both stages of a run, of its own model: of several servers those of the one that got most requests. A run whose hardware is not known is
// an error, because service times are predicted.
func QueuesOfRun(ctx context.Context, db *sql.DB, runID string) ([]MeasuredQueue, error) {
	var servers sql.NullInt64
	var address string
	err := db.QueryRowContext(ctx, slotsQuery, runID).Scan(&servers, &address)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	if !servers.Valid {
		why, err := unmodelledOf(ctx, db, runID)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", runID, err)
		}
		if why != "" {
			return nil, hint.Errorf("run %s: %s, so the time of a prompt is not known", runID, why).Hint("give --arrival-rate and --service-time")
		}
		return nil, hint.Errorf("run %s: what it ran on is not known, so the time of a prompt is not known either", runID).
			Hint("send it again with --gpu and --catalog-model, or give --arrival-rate and --service-time")
	}
	queues := make([]MeasuredQueue, 2)
	for i, stage := range []struct {
		name    string
		servers int
		service string
	}{
		{prefillStage, 1, "prompts.prompt_s"}, {slotStage, int(servers.Int64), "prompts.prompt_s + prompts.decode_s"},
	} {
		queues[i], err = measured(ctx, db, stage.name, stage.servers, fmt.Sprintf(servicesOfRun, stage.service), runID)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", runID, err)
		}
		queues[i].Address = address
	}
	return queues, nil
}

// busiestAddress is the server that got most of the requests of a run's own model.
const busiestAddress = `(
    select max({'requests': requests, 'address': address}).address
    from (
        select
            coalesce(endpoint, '') as address,
            count(*) as requests
        from staging.requests
        where run_id = $1
            and is_success
            and not is_warm_up
            and not is_unpredicted
        group by all
    )
)`

// slotsQuery counts the sequences that both the engine's limit and its KV cache allow, at the run's mean context. A sequence decodes with
// half of its answer there on average.
const slotsQuery = `
select
    least(deployments.max_num_seqs, floor(macros.kv_capacity_tokens(deployments) / mean.tokens))::bigint as servers,
    case when mean.addresses > 1 then ` + busiestAddress + ` else '' end
from staging.deployments
cross join (
    select
        avg(input_tokens + output_tokens / 2e0) as tokens,
        count(distinct coalesce(endpoint, '')) as addresses
    from staging.requests
    where run_id = $1
        and is_success
        and not is_warm_up
        and not is_unpredicted
) as mean
where deployments.run_id = $1
    and servers > 0`

// servicesOfRun lists when each request was sent and how long a stage worked on it. A prompt has at least one token to compute, because
// engines always compute the last one.
const servicesOfRun = `
select
    prompts.sent_s,
    %s
from (
    select
        requests.sent_s,
        requests.seq,
        macros.prompt_s(
            deployments,
            1,
            greatest(1, requests.input_tokens - coalesce(requests.cached_tokens, 0)),
            coalesce(requests.cached_tokens, 0)
        ) as prompt_s,
        requests.last_token_s - requests.first_token_s as decode_s
    from staging.requests
    inner join staging.deployments on deployments.run_id = requests.run_id
    where requests.run_id = $1
        and requests.is_success
        and not requests.is_warm_up
        and not requests.is_unpredicted
        and coalesce(requests.endpoint, '') = ` + busiestAddress + `
) as prompts
order by
    prompts.sent_s,
    prompts.seq`

// RoomOfRun says what a run's GPUs have room for, and how long prompts wait by a queue's formula beside what was measured: two sentences; none where the
// deployment is not known. The second is of the same queue as QueuesOfRun's, and left out where prompts come faster than the formula can serve them, or
// fewer than 20 came.
func RoomOfRun(ctx context.Context, db *sql.DB, runID string) (sentences []string, err error) {
	var room sql.NullString
	var isQueue bool
	err = db.QueryRowContext(ctx, `
with means as (
    select
        avg(input_tokens + output_tokens / 2e0) as tokens,
        count(*) >= 20 and max(sent_s) > min(sent_s) as is_queue
    from staging.requests
    where run_id = $1
        and is_success
        and not is_warm_up
        and not is_unpredicted
),

rooms as (
    select
        d.max_num_seqs as most,
        floor(macros.kv_capacity_tokens(d)) as kv_tokens,
        means.tokens,
        means.is_queue,
        floor(macros.fitting_requests(d, macros.kv_free_bytes(d), means.tokens, 0)) as fitting
    from staging.deployments
    cross join means
    where run_id = $1
)

select
    'one replica has room for ' || macros.count_text(kv_tokens) || ' tokens of KV cache: ' || macros.count_text(least(most, fitting))
    || ' requests at once of ' || macros.count_text(round(tokens)) || ' tokens (prompt and half of the answer, the mean of this run), limited by '
    || case when fitting < most then 'the KV cache' else 'max_num_seqs ' || macros.count_text(most) end,
    is_queue
from rooms
where kv_tokens > 0`, runID).Scan(&room, &isQueue)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !room.Valid {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	sentences = append(sentences, room.String)
	if !isQueue {
		return sentences, nil
	}
	prompts, err := measured(ctx, db, prefillStage, 1, fmt.Sprintf(servicesOfRun, "prompts.prompt_s"), runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	var wait sql.NullString
	load := prompts.Load
	err = db.QueryRowContext(ctx, `
select
    'by the formula of Pollaczek and Khinchine (prompts at random instants, computed one after the other) a prompt waits '
    || macros.duration_text(macros.pollaczek_khinchine_s($2::double, $3::double, $4::double)) || ' in the mean, at a utilization of '
    || macros.percent_text($2::double * $3::double) || '; at the instants at which they came it is ' || macros.duration_text($5::double)
    || coalesce(
        '; measured, with the step that was under way, ' || case when measured_s <= 0 then 'nothing' else macros.duration_text(measured_s) end
        || ' beyond the predicted work of the prompt itself',
        ''
    )
from (select avg(ttft_s - request_s - prompt_s - steps_s) as measured_s from marts.ttft_gap where run_id = $1 and prompt_s > 0)`,
		runID, load.RatePerS, load.ServiceS, load.ServiceCV, prompts.Served.MeanWaitS).Scan(&wait)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	if wait.Valid {
		sentences = append(sentences, wait.String)
	}
	return sentences, nil
}

// QueueOfSource is the prefill stage of a trace replayed on a deployment. There are no slots, because a trace does not say how long an
// answer takes.
func QueueOfSource(ctx context.Context, db *sql.DB, name string, d deployment.Deployment) (MeasuredQueue, error) {
	_, made, err := deploy(ctx, db, d)
	if err != nil {
		return MeasuredQueue{}, err
	}
	queue, err := measured(ctx, db, prefillStage, 1, `
select
    offset_s,
    macros.prompt_s(d, 1, greatest(1, input_tokens - coalesce(cached_tokens, 0)), coalesce(cached_tokens, 0))`+
		made.from()+`
cross join staging.arrivals
where arrivals.source_name = $2
    and arrivals.input_tokens > 0
order by arrivals.seq`, made.row, name)
	if err != nil {
		return queue, fmt.Errorf("source %s: %w", name, err)
	}
	return queue, nil
}

// ArrivalsOfSource is a queue with a trace's arrivals and a service time that the user gives. If the user also says that it varies (a cv), only
// the formulas can answer: serving the requests one by one would need the service time of each, so those waits are NaN.
func ArrivalsOfSource(ctx context.Context, db *sql.DB, name string, serviceS, serviceCV float64, servers int) (MeasuredQueue, error) {
	queue, err := measured(ctx, db, "as given", servers,
		"select offset_s, ?::double from staging.arrivals where source_name = ? order by seq", serviceS, name)
	if err != nil {
		return queue, fmt.Errorf("source %s: %w", name, err)
	}
	queue.Load.ServiceCV = serviceCV
	if serviceCV != 0 {
		queue.Served = queueing.Served{MeanWaitS: math.NaN(), P99WaitS: math.NaN(), MeanTimeS: math.NaN()} // the service of each request is not known, only its mean and cv
	}
	return queue, nil
}

// IsRun says whether a name is that of a run (and not of a trace). A name that is neither is an error that lists the traces.
func IsRun(ctx context.Context, db *sql.DB, name string) (bool, error) {
	var runs, sources int
	err := db.QueryRowContext(ctx, `
select
    (select count(*) from staging.runs where run_id = $1),
    (select count(*) from staging.sources where source_name = $1 and kind = 'arrivals')`, name).Scan(&runs, &sources)
	if err != nil {
		return false, err
	}
	if runs+sources == 0 {
		return false, unknown(ctx, db, "trace", name, "select source_name as name from staging.sources where kind = 'arrivals' order by name",
			`"tidemark runs" lists the runs`)
	}
	return runs > 0, nil
}

// measured reads arrivals in order, each with its service time, and serves them. It needs three requests: fewer have no variation of gaps.
func measured(ctx context.Context, db *sql.DB, stage string, servers int, query string, args ...any) (MeasuredQueue, error) {
	queue := MeasuredQueue{Stage: stage}
	var arrivals, services []float64
	err := each(ctx, db, query, args, func(scan func(...any) error) error {
		var arrival, service float64
		err := scan(&arrival, &service)
		arrivals, services = append(arrivals, arrival), append(services, service)
		return err
	})
	if err != nil {
		return queue, err
	}
	if len(arrivals) < 3 || arrivals[len(arrivals)-1] == arrivals[0] {
		return queue, fmt.Errorf("%d requests with a time and a length are too few: a rate needs three", len(arrivals))
	}
	var gaps, service queueing.Moments
	for i := range arrivals {
		service.Add(services[i])
		if i > 0 {
			gaps.Add(arrivals[i] - arrivals[i-1])
		}
	}
	queue.Requests = len(arrivals)
	queue.Load = queueing.Load{RatePerS: 1 / gaps.Mean, ServiceS: service.Mean, Servers: servers, ArrivalCV: gaps.CV(), ServiceCV: service.CV()}
	queue.Served = queueing.Serve(arrivals, services, servers)
	return queue, nil
}
