//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// A run as a workload: what it sent, when, and on what, so that what-if can ask how another deployment would have served the same requests,
// and how well the model would have predicted this one. Lengths are those that the server counted, not those that were planned.

// RunTraffic is what a run sent and what it ran on.
type RunTraffic struct {
	deployment.Deployment
	Name           string // as the user called it, else its id
	IsDraft        bool   // what it ran on is not known
	IsSimulated    bool
	Invalid        string // why the run is no measurement; empty: it is one
	Replicas       int    // servers that it was sent to
	MaxConcurrency int    // of a closed loop; 0: it was an open one
	WarmUp         int    // requests of its warm-up: they are left out, as they are of its figures
	IsCacheKnown   bool   // the server reported what it found in its cache; else the plan's shared blocks stand for it
	Requests       []plan.Request
	TPOT, TTFT     float64 // measured means, over tokens and over requests
}

// TrafficOfRun reads a run's successful requests after the warm-up, with the lengths that the server counted. An invalid run is read all the
// same, and Invalid says why it is no measurement: its requests may still be asked about elsewhere. A run without a successful request is an
// error.
func TrafficOfRun(ctx context.Context, db *sql.DB, runID string) (t RunTraffic, err error) {
	if err := t.readManifest(ctx, db, runID); err != nil {
		return t, err
	}
	// Only the mart knows whether requests beat the floor; run.json does not.
	if verdict, err := Judge(ctx, db, runID); err != nil {
		return t, err
	} else if why := verdict.Unusable(); why != "" {
		t.Invalid = why
	}
	var decodeS, gaps, ttftS float64
	err = each(ctx, db, `
select
    due_s,
    coalesce(input_tokens_reported, input_tokens),
    received_tokens,
    coalesce(cached_tokens, shared_tokens, 0),
    cached_tokens is not null,
    coalesce(class, ''),
    coalesce(session_id, ''),
    coalesce(turn, 0),
    ttft_s,
    last_token_s - first_token_s
from staging.requests
where run_id = ?
    and is_success
    and not is_warm_up
    and received_tokens > 0
order by
    due_s,
    seq`, []any{runID}, func(scan func(...any) error) error {
		r := plan.Request{Seq: int64(len(t.Requests))}
		var dueS, ttft, decode float64
		var isSaid bool
		err := scan(&dueS, &r.InputTokens, &r.OutputTokens, &r.SharedTokens, &isSaid, &r.Class, &r.Session, &r.Turn, &ttft, &decode)
		r.Due = time.Duration(dueS * float64(time.Second))
		t.IsCacheKnown = t.IsCacheKnown || isSaid
		t.Requests = append(t.Requests, r)
		decodeS, gaps, ttftS = decodeS+decode, gaps+float64(r.OutputTokens-1), ttftS+ttft
		return err
	})
	if err != nil {
		return t, fmt.Errorf("run %s: %w", runID, err)
	}
	if len(t.Requests) == 0 {
		return t, hint.Errorf("run %s: no request to go by", runID).Hint("a run wants successful requests after its warm-up")
	}
	shareBlocks(t.Requests)
	t.TPOT, t.TTFT = decodeS/gaps, ttftS/float64(len(t.Requests))
	return t, nil
}

// shareBlocks gives requests blocks in the place of those that the warehouse does not have, so that a prefix cache finds as many of their tokens
// as the run's did: a first turn shares what it found with all others, as a system prompt, and a later turn repeats its session.
func shareBlocks(requests []plan.Request) {
	const blockTokens = 16 // vLLM's
	common := map[string]int{}
	for i := range requests {
		if r := &requests[i]; r.Turn == 0 && r.Session != "" {
			common[r.Session] = r.SharedTokens / blockTokens
		}
	}
	turns := map[string]int{}
	for i := range requests {
		turns[requests[i].Session] = max(turns[requests[i].Session], requests[i].Turn)
	}
	for i := range requests {
		r := &requests[i]
		own, whole := splitmix.Hash(r.Session), r.SharedTokens/blockTokens
		shared := whole
		if r.Session != "" && turns[r.Session] > 0 {
			shared, whole = common[r.Session], r.InputTokens/blockTokens
		}
		if whole == 0 {
			continue
		}
		r.BlockTokens, r.Blocks = blockTokens, make([]uint64, whole)
		for k := range r.Blocks {
			r.Blocks[k] = splitmix.Mix(uint64(k))
			if k >= shared {
				r.Blocks[k] = splitmix.Mix(own ^ uint64(k))
			}
		}
	}
}

// readManifest reads what a run was sent to and how, without its requests.
func (t *RunTraffic) readManifest(ctx context.Context, db *sql.DB, runID string) error {
	var ranOn, invalid sql.NullString
	var concurrency sql.NullInt64
	err := db.QueryRowContext(ctx, `
select
    to_json(runs.deployment)::varchar,
    runs.is_draft,
    runs.is_simulated,
    case when runs.mode = 'closed' then runs.max_concurrency end,
    greatest(1, coalesce(len(runs.endpoints), 1)),
    runs.reported_reason,
    coalesce(nullif(runs.name, ''), runs.run_id),
    (select count(*) from staging.requests where requests.run_id = runs.run_id and requests.is_warm_up)
from staging.runs
where runs.run_id = ?`, runID).Scan(&ranOn, &t.IsDraft, &t.IsSimulated, &concurrency, &t.Replicas, &invalid, &t.Name, &t.WarmUp)
	if err == nil && ranOn.Valid {
		err = json.Unmarshal([]byte(ranOn.String), &t.Deployment)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", runID, err)
	}
	t.MaxConcurrency, t.Invalid = int(concurrency.Int64), invalid.String
	return nil
}
