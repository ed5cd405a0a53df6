package reports

import (
	"fmt"
	"math"
	"strings"

	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// Worst is where the slowest requests of a run spent their time.
type Worst struct {
	Figure  *Figure
	Finding string
}

// mostWorst is how many requests are shown.
const mostWorst = 12

// worst asks for the requests that waited longest by what the run is judged by. The queue is the server's own word where it has one, else the
// model's; a stall is what a gap between chunks takes beyond four times the request's median gap.
func (p *page) worst(s section) (Worst, error) {
	column := s.Run.tailColumns()[0]
	r, err := ask(p.ctx, p.db, "marts.ttft_gap", fmt.Sprintf(`with slowest as (
    select *
    from staging.requests
    where run_id = $1 and is_success and not is_warm_up and ttft_s is not null
    order by %s desc nulls last, seq
    limit %d
),

gaps as (
    select
        seq,
        unnest(offsets[2:]) - unnest(offsets[:-2]) as gap_us
    from (
        select slowest.seq, measured.chunk_offsets_us as offsets
        from slowest
        inner join staging.chunk_offsets as measured on measured.run_id = slowest.run_id and measured.seq = slowest.seq
        where len(measured.chunk_offsets_us) > 2
    ) as each
),

stalls as (
    select
        seq,
        1e-6 * sum(greatest(gap_us - 4 * usual_us, 0)) as stalled_s
    from (select *, median(gap_us) over (partition by seq) as usual_us from gaps) as each
    group by seq
)

select
    slowest.seq,
    slowest.input_tokens,
    slowest.output_tokens,
    slowest.sent_s,
    slowest.sent_s - slowest.due_s as before_sent_s,
    slowest.ttft_s,
    least(coalesce(slowest.server_queue_s, gap.place_wait_s + gap.prompt_wait_s, 0), slowest.ttft_s) as queue_s,
    slowest.last_token_s - slowest.first_token_s - coalesce(stalls.stalled_s, 0) as decode_s,
    coalesce(stalls.stalled_s, 0) as stalled_s
from slowest
left join marts.ttft_gap as gap on gap.run_id = slowest.run_id and gap.seq = slowest.seq
left join stalls on stalls.seq = slowest.seq
order by slowest.%[1]s desc, slowest.seq`, column, mostWorst), s.Run.ID)
	if err != nil || r.Len() < 3 {
		return Worst{}, err
	}
	unit := show.UnitOf(greatest([]any{most(r, "decode_s"), most(r, "ttft_s")}))
	c := plot.Chart{X: plot.Axis{Name: unit.Name + " since due"}}
	sums := map[string]float64{}
	for i := range r.Rows {
		row := plot.Row{Name: fmt.Sprintf("#%s · %s + %s tokens", count(r.At(i, "seq")), count(r.At(i, "input_tokens")), count(r.At(i, "output_tokens"))), Short: "#" + count(r.At(i, "seq"))}
		at := 0.0
		put := func(name, fill, edge string, seconds float64) {
			if seconds > 0 {
				row.Spans = append(row.Spans, plot.Span{From: at * unit.Factor, To: (at + seconds) * unit.Factor, Fill: fill, Edge: edge, Name: name})
				at += seconds
				sums[name] += seconds
			}
		}
		value := func(column string) float64 { v, _ := number(r.At(i, column)); return math.Max(v, 0) }
		put("before it was sent", "var(--history)", "var(--axis)", value("before_sent_s"))
		put("queue", "var(--bad)", "", value("queue_s"))
		put("prefill", "var(--measured)", "", value("ttft_s")-value("queue_s"))
		put("decode", "var(--measured-band)", "var(--measured-edge)", value("decode_s"))
		put("stalls", "var(--ink)", "", value("stalled_s"))
		row.Text = tight(show.Duration(at))
		c.Rows = append(c.Rows, row)
	}
	name, longest, total := "", 0.0, 0.0
	for _, part := range []string{"before it was sent", "queue", "prefill", "decode", "stalls"} {
		total += sums[part]
		if sums[part] > longest {
			name, longest = part, sums[part]
		}
	}
	where := "in " + name
	if name == "before it was sent" {
		where = "before they were sent"
	}
	by := show.Words(strings.TrimSuffix(column, "_s"))
	finding := fmt.Sprintf("The %d requests with the longest %s spent %s of their time %s", r.Len(), by, show.Percent(longest/total), where)
	f := p.figure(s, "worst", c, finding, "Queue as the server says, else by the model; a stall is what a gap takes beyond four times the request’s median gap, the rest is decode", r)
	return Worst{&f, finding}, nil
}

// shares draws the shares of a whole as rows, the largest first.
func shares(r *Result, name, share string) (plot.Chart, error) {
	c := plot.Chart{X: plot.Axis{Name: "% of the time"}}
	if err := r.need(name, share); err != nil {
		return c, err
	}
	for i := range r.Rows {
		v, _ := number(r.At(i, share))
		c.Rows = append(c.Rows, plot.Row{Name: fmt.Sprint(r.At(i, name)), Text: tight(show.Percent(v)), Spans: []plot.Span{{To: 100 * v, Fill: "var(--measured)"}}})
	}
	return c, nil
}

// fitted is a straight line through the first and the last point of a column.
func fitted(r *Result, x, base, slope string, factor float64) ([]plot.Point, error) {
	if err := r.need(x, base, slope); err != nil || r.Len() == 0 {
		return nil, err
	}
	from, to := 0.0, 0.0
	if v, isKnown := number(most(r, x)); isKnown {
		to = v
	}
	if v, isKnown := number(least(r, x)); isKnown {
		from = v
	}
	b, hasBase := number(r.At(0, base))
	m, hasSlope := number(r.At(0, slope))
	if !hasBase || !hasSlope {
		return nil, nil
	}
	return []plot.Point{{X: from, Y: (b + m*from) * factor}, {X: to, Y: (b + m*to) * factor}}, nil
}
