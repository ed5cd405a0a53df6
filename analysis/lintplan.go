package analysis

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"tidemark/internal/show"
	"tidemark/replay/plan"
)

// LintPlan looks at a plan before it is sent. When a case fires is said here and not in a relation, because no warehouse has plans; words and
// remedies are those of seeds.lint_rules.
func LintPlan(ctx context.Context, db *sql.DB, path string) (l Lint, err error) {
	planned, err := plan.Open(path)
	if err != nil {
		return l, err
	}
	var enough int64
	if err := db.QueryRowContext(ctx, "select macros.fewest_samples(0.99)").Scan(&enough); err != nil {
		return l, fmt.Errorf("lint %s: %w", path, err)
	}
	prompts, err := promptsOf(planned)
	if err != nil {
		return l, err
	}
	h := planned.Header()
	var rules, found []any
	fires := func(is bool, rule, format string, values ...any) {
		if is {
			rules, found = append(rules, rule), append(found, fmt.Sprintf(format, values...))
		}
	}
	fires(h.Requests < enough, "few_requests", "p99 of %s: it wants %s", show.Things(h.Requests, "request", "requests"), show.Count(enough))
	fires(h.Requests > 1 && h.DurationS == 0 && h.MaxConcurrency == 0, "saturation_only", "all %s requests are due at one instant", show.Count(h.Requests))
	fires(h.Scaling.Lengths == plan.LengthsMean, "average_lengths", "all requests have the average lengths of %s", h.Source)
	fires(prompts.later > 0 && h.Mode != "sessions", "turns_overlap", "%s of %s requests are later turns, and each goes at its own time, answered or not", show.Count(prompts.later), show.Count(h.Requests))
	fires(h.MaxConcurrency > 0 && h.Requests < 10*int64(h.MaxConcurrency), "no_steady_state", "%s for %d in flight", show.Things(h.Requests, "request", "requests"), h.MaxConcurrency)
	fires(2*prompts.most >= h.Requests && h.Requests > 1 && prompts.most > 1, "identical_prompts", "%s of %s prompts are the same", show.Count(prompts.most), show.Count(h.Requests))
	fires(10*prompts.continued >= h.Requests && prompts.continued > 0, "single_turns", "%s of %s prompts go on from an earlier one, and none has a session", show.Count(prompts.continued), show.Count(h.Requests))
	if l.Found, err = askFor(ctx, "lint", db, `
select
    $1::varchar as subject,
    'plan' as subject_kind,
    rule,
    found,
    wrong,
    remedy
from (select unnest($2::varchar[]) as rule, unnest($3::varchar[]) as found) as cases
inner join seeds.lint_rules using (rule)
order by seq`, path, rules, found); err != nil {
		return l, err
	}
	l.LookedFor, err = casesOf(ctx, db, []string{"plan"}, true)
	return l, err
}

// plannedPrompts are what the prompts of a plan are to each other.
type plannedPrompts struct {
	later     int64 // turns after the first of a session
	most      int64 // requests with the commonest prompt of the same blocks and length
	continued int64 // prompts that begin with all blocks of an earlier one and go on; 0 where requests have sessions
}

// promptsOf compares prompts by their blocks; a plan without blocks has prompts of which no two are alike.
func promptsOf(planned *plan.Plan) (p plannedPrompts, err error) {
	same, whole := map[string]int64{}, map[uint64]bool{}
	hasSessions := false
	for req, err := range planned.Requests() {
		if err != nil {
			return p, err
		}
		hasSessions = hasSessions || req.Session != ""
		if req.Turn > 0 {
			p.later++
		}
		if len(req.Blocks) == 0 {
			continue
		}
		hash, isContinued := fnv.New64a(), false
		for i, block := range req.Blocks {
			isContinued = isContinued || i > 0 && whole[hash.Sum64()]
			binary.Write(hash, binary.LittleEndian, block)
		}
		if isContinued {
			p.continued++
		}
		whole[hash.Sum64()] = true
		key := fmt.Sprint(hash.Sum64(), req.InputTokens)
		same[key]++
		p.most = max(p.most, same[key])
	}
	if hasSessions {
		p.continued = 0
	}
	return p, nil
}
