package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// Anatomy is where the time of all requests of a run went.
type Anatomy struct {
	Figure  *Figure
	Finding string
}

// fewestToPart is how many requests a chart of their parts wants; the slowest hundredth is shown where it is at least as many.
const fewestToPart = 3

// anatomyPart is a part of a request's time, in the order in which they follow each other.
type anatomyPart struct{ column, name, spent, fill, edge string }

var anatomyParts = []anatomyPart{
	{"wait_s", "before it was sent", "before it was sent", "var(--history)", "var(--axis)"},
	{"queue_s", "queue", "in the queue", "var(--bad)", ""},
	{"prefill_s", "prefill", "in prefill", "var(--measured)", ""},
	{"unsaid_s", "to the first token", "before the first token", "var(--measured)", ""},
	{"outside_s", "outside the engine", "outside the engine", "var(--axis)", ""},
	{"decode_s", "decode", "in decoding", "var(--measured-band)", "var(--measured-edge)"},
	{"stall_s", "stalls", "in stalls", "var(--ink)", ""},
}

// anatomy asks for the mean parts of all requests, of the fast and the slow ones by what the run is judged by, and of each class.
func (p *page) anatomy(s section) (Anatomy, error) {
	column := s.Run.tailColumns()[0]
	if column == "tpot_s" { // which says nothing of how long a request took
		column = "e2e_from_due_s"
	}
	r, err := ask(p.ctx, p.db, "marts.request_anatomy", fmt.Sprintf(`with ranked as (
    select
        anatomy.*,
        percent_rank() over (order by requests.%s, anatomy.seq) as rank,
        count(*) over (partition by true) as of_all
    from marts.request_anatomy as anatomy
    inner join staging.requests on requests.run_id = anatomy.run_id and requests.seq = anatomy.seq
    where anatomy.run_id = $1 and anatomy.is_success
),

grouped as (
    select
        *,
        unnest([
            {'place': 0, 'requests': 'all'},
            case
                when of_all < %[2]d * 10 then null
                when rank < 0.5 then {'place': 1, 'requests': 'fastest half'}
                when rank < 0.9 then {'place': 2, 'requests': 'next 40 %%'}
                when rank < 0.99 or of_all < %[2]d * 100 then {'place': 3, 'requests': if(of_all < %[2]d * 100, 'slowest 10 %%', 'next 9 %%')}
                else {'place': 4, 'requests': 'slowest 1 %%'}
            end,
            case when min(class) over (partition by true) <> max(class) over (partition by true) and class is not null then {'place': 5, 'requests': class} end
        ]) as part
    from ranked
)

select
    part.requests as requests,
    count(*) as n,
    avg(wait_s) as wait_s,
    case when count(queue_s) = count(*) then avg(queue_s) end as queue_s,
    case when count(queue_s) = count(*) then avg(prefill_s) end as prefill_s,
    case when count(queue_s) < count(*) then avg(ttft_s) end as unsaid_s,
    case when count(queue_s) = count(*) then avg(outside_s) end as outside_s,
    avg(decode_s) as decode_s,
    avg(stall_s) as stall_s,
    avg(wait_s + e2e_s) as e2e_from_due_s
from grouped
where part is not null
group by part
order by part.place, n desc, part.requests
limit 12`, column, fewestToPart), s.Run.ID)
	if err != nil || r.Len() == 0 {
		return Anatomy{}, err
	}
	if n, _ := number(r.At(0, "n")); n < fewestToPart {
		return Anatomy{}, nil
	}
	unit := show.UnitOf(greatest([]any{most(r, "e2e_from_due_s")}))
	c := plot.Chart{X: plot.Axis{Name: "mean " + unit.Name + " since due"}}
	for i := range r.Rows {
		c.Rows = append(c.Rows, partsOf(r, i, unit.Factor))
	}
	finding := fmt.Sprintf("A request takes %s, %s", show.Duration(numberAt(r, 0, "e2e_from_due_s")), largestPart(r, 0))
	if slowest := slices.IndexFunc(r.Rows, func(row []any) bool { return strings.HasPrefix(fmt.Sprint(row[0]), "slowest") }); slowest > 0 {
		finding += fmt.Sprintf("; the %s %s, %s", r.At(slowest, "requests"), show.Duration(numberAt(r, slowest, "e2e_from_due_s")), largestPart(r, slowest))
	}
	soft := "Means that add up, fast and slow by " + show.Words(strings.TrimSuffix(column, "_s")) + "; a gap of more than twice the run’s median gap stalls for what it is over that median"
	if r.At(0, "unsaid_s") != nil {
		soft += "; the server does not say when it began with a request, so that its queue and its prefill are one part"
	}
	f := p.figure(s, "anatomy-parts", c, finding, soft, r)
	return Anatomy{&f, finding}, nil
}

func numberAt(r *Result, row int, column string) float64 {
	v, _ := number(r.At(row, column))
	return v
}

// partsOf is a bar of parts behind each other. What is below 0, because two clocks differ, is not drawn.
func partsOf(r *Result, i int, factor float64) plot.Row {
	row := plot.Row{Name: fmt.Sprintf("%s, n = %s", r.At(i, "requests"), count(r.At(i, "n"))), Short: fmt.Sprint(r.At(i, "requests"))}
	at := 0.0
	for _, part := range anatomyParts {
		if seconds := numberAt(r, i, part.column); seconds > 0 {
			row.Spans = append(row.Spans, plot.Span{From: at * factor, To: (at + seconds) * factor, Fill: part.fill, Edge: part.edge, Name: part.name})
			at += seconds
		}
	}
	row.Text = tight(show.Duration(numberAt(r, i, "e2e_from_due_s")))
	return row
}

// largestPart says where a row's requests spent most of their time.
func largestPart(r *Result, row int) string {
	longest := slices.MaxFunc(anatomyParts, func(a, b anatomyPart) int {
		return cmp.Compare(numberAt(r, row, a.column), numberAt(r, row, b.column))
	})
	share := numberAt(r, row, longest.column) / numberAt(r, row, "e2e_from_due_s")
	return fmt.Sprintf("%s of it %s", show.Percent(share), longest.spent)
}

// shares draws the shares of a whole as rows, the largest first.
func shares(r *Result, name, share string) (plot.Chart, error) {
	c := plot.Chart{X: plot.Axis{Name: "% of the time"}}
	if err := r.need(name, share); err != nil {
		return c, err
	}
	for i := range r.Rows {
		v, isKnown := number(r.At(i, share))
		if !isKnown { // only predicted
			continue
		}
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
