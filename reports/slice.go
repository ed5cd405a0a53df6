package reports

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/show"
)

// slice is how well what was replayed stands for the trace that it is a part of.
type slice struct {
	Line   string // a sentence for the first screen; empty: not known
	Result *Result
}

// fewestRecorded is how many requests a trace needs for its lengths to have a distribution.
const fewestRecorded = 30

// slice compares the lengths of the run's requests with those of its whole trace: ks is the largest difference of the shares below any length.
func (p *page) slice(run *Run) (slice, error) {
	sha, _ := run.Facts.At(0, "source_sha256").(string)
	r, err := ask(p.ctx, p.db, "staging.arrivals", `with lengths as (
    select false as is_sent, arrivals.input_tokens, arrivals.output_tokens
    from staging.arrivals
    inner join staging.sources on sources.source_name = arrivals.source_name
    where sources.kind = 'arrivals' and sources.sha256 = $2
    union all
    select true, input_tokens, output_tokens
    from staging.requests
    where run_id = $1 and not is_warm_up
),

each as (
    unpivot lengths on input_tokens, output_tokens into name what value tokens
),

counted as (
    select
        what,
        tokens,
        count(*) filter (where is_sent) as sent,
        count(*) filter (where not is_sent) as recorded
    from each
    group by all
)

select
    what,
    sum(sent)::bigint as sent,
    sum(recorded)::bigint as recorded,
    max(abs(sent_share - recorded_share)) as ks
from (
    select
        *,
        sum(sent) over in_order / nullif(sum(sent) over whole, 0) as sent_share,
        sum(recorded) over in_order / nullif(sum(recorded) over whole, 0) as recorded_share
    from counted
    window
        in_order as (partition by what order by tokens rows unbounded preceding),
        whole as (partition by what)
) as shares
group by what
order by what`, run.ID, sha)
	if err != nil || r.Len() == 0 {
		return slice{Result: r}, err
	}
	most, isKnown := number(r.At(0, "ks"))
	if other, hasOther := number(r.At(r.Len()-1, "ks")); hasOther {
		most = math.Max(most, other)
	}
	sent, _ := number(r.At(0, "sent"))
	recorded, _ := number(r.At(0, "recorded"))
	isWhole := most == 0 && sent == recorded
	if !isKnown || isWhole || recorded < fewestRecorded {
		return slice{Result: r}, nil
	}
	line := "Its lengths stand for the whole trace (KS at most " + show.Distance(most) + ")."
	switch isMoved, isUnknown := analysis.Likeness(most, int64(sent), int64(recorded)); {
	case isMoved:
		line = "Its lengths do not stand for the whole trace (KS " + show.Distance(most) + ")."
	case isUnknown:
		line = fmt.Sprintf("Its %s requests are too few to tell whether their lengths stand for the whole trace (KS %s).", show.Count(int64(sent)), show.Distance(most))
	}
	return slice{Line: line, Result: r}, nil
}

// burst is a stretch of a run that holds most of its misses.
type burst struct {
	From, To    float64 // seconds since the start
	Misses, All int64
}

// findBurst looks for the shortest part of a run, of a fifth at most, that holds four fifths of the misses of the objective that decided.
func (run *Run) findBurst(ctx context.Context, db *sql.DB) error {
	if !run.HasSLO {
		return nil
	}
	o := run.binding()
	column := metric.Column(o.Metric)
	if column == "" || o.Above == 0 {
		return nil
	}
	const parts, most, share = 20, 4, 0.8
	r, err := ask(ctx, db, "staging.requests", fmt.Sprintf(`select
    floor(%d * sent_s / (select max(sent_s) * 1.000001 from staging.requests where run_id = $1))::bigint as part,
    count(*) filter (where %s > $2::double) as missed,
    (select max(sent_s) from staging.requests where run_id = $1) as length_s
from staging.requests
where run_id = $1 and is_success and not is_warm_up and ($3 = '' or class = $3)
group by part
order by part`, parts, column), run.ID, fmt.Sprint(o.AtMost), o.Class)
	if err != nil {
		return err
	}
	var missed [parts]int64
	total, length := int64(0), 0.0
	for i := range r.Rows {
		part, _ := number(r.At(i, "part"))
		n, _ := number(r.At(i, "missed"))
		length, _ = number(r.At(i, "length_s"))
		if part >= 0 && part < parts {
			missed[int(part)], total = int64(n), total+int64(n)
		}
	}
	for width := 1; width <= most && total > 0; width++ {
		for from := 0; from+width <= parts; from++ {
			sum := int64(0)
			for _, n := range missed[from : from+width] {
				sum += n
			}
			if float64(sum) >= share*float64(total) {
				run.Burst = &burst{From: float64(from) * length / parts, To: float64(from+width) * length / parts, Misses: sum, All: total}
				return nil
			}
		}
	}
	return nil
}
