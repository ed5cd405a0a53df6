package reports

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/show"
	"tidemark/internal/wildcard"
	"tidemark/reports/plot"
)

// Searches for capacity: which of them a page shows, and the axis on which their shares of misses are drawn.

// searchesOfRuns finds the searches that sent any of the runs, oldest first.
func searchesOfRuns(ctx context.Context, db *sql.DB, runs []Run) ([]string, error) {
	ids := make([]any, len(runs))
	for i, run := range runs {
		ids[i] = run.ID
	}
	found, err := ask(ctx, db, "marts.capacities", `select search_id
from marts.capacities
where list_has_any(run_ids, $1::varchar[])
order by started_at, search_id`, ids)
	if err != nil {
		return nil, err
	}
	return found.texts("search_id"), nil
}

// namedSearches finds the searches that a pattern names, by their id or by the source whose traffic they scaled. Of several searches for the same
// (source, window, objectives, way to send) a source means the newest, which shows the one before it. names are all that might have been named.
func namedSearches(ctx context.Context, db *sql.DB, patterns []string) (searches, names []string, isMatched map[string]bool, err error) {
	known, err := ask(ctx, db, "marts.capacities", `select
    search_id,
    source_name,
    row_number() over (
        partition by coalesce(source_sha256, source_name), from_s, until_s, mode, scaled_by, lengths, origin, objectives
        order by started_at desc, search_id
    ) = 1 as is_newest
from marts.capacities
order by started_at, search_id`)
	if err != nil {
		return nil, nil, nil, err
	}
	isMatched = map[string]bool{}
	for i := range known.Rows {
		id, _ := known.At(i, "search_id").(string)
		source, _ := known.At(i, "source_name").(string)
		isNewest, _ := known.At(i, "is_newest").(bool)
		names = append(names, source, id)
		for _, pattern := range patterns {
			isThis := wildcard.Match(pattern, id)
			if wildcard.Match(pattern, source) {
				isMatched[pattern] = true
				isThis = isThis || isNewest
			}
			if isThis {
				isMatched[pattern] = true
				if !slices.Contains(searches, id) {
					searches = append(searches, id)
				}
			}
		}
	}
	return searches, names, isMatched, nil
}

// texts are the texts of a column.
func (r *Result) texts(column string) []string {
	texts := make([]string, len(r.Rows))
	for i := range r.Rows {
		texts[i], _ = r.At(i, column).(string)
	}
	return texts
}

// Shares of misses are drawn by their logarithm: 0.1 %, 1 % and 10 % are equally far apart. A share below the smallest that is drawn, such as none at all,
// lies on the axis.

// leastMissed is the smallest share that is drawn: a tenth of what is allowed, to a power of ten.
func leastMissed(allowed any) float64 {
	share, isKnown := number(allowed)
	if !isKnown || share <= 0 {
		share = 0.01
	}
	return math.Pow(10, math.Floor(math.Log10(min(share, 1)*1.000001))-1)
}

// missedAt is the place of a share on the axis.
func missedAt(share, least float64) float64 { return math.Log10(max(share, least) / least) }

// missedAxis is an axis of shares from the smallest that is drawn up to all.
func missedAxis(name string, allowed any) plot.Axis {
	least := leastMissed(allowed)
	decades := int(math.Round(-math.Log10(least)))
	axis := plot.Axis{Name: name, To: float64(decades)}
	for i := range decades + 1 {
		text := show.Plain(100*least*math.Pow10(i)) + " %"
		if i == 0 {
			text = "≤ " + text
		}
		axis.Ticks = append(axis.Ticks, plot.Tick{At: float64(i), Text: text})
	}
	return axis
}

// missedLimit is the line of the share that may miss, or nothing where the objective has none.
func missedLimit(allowed any) any {
	share, isKnown := number(allowed)
	if !isKnown || share <= 0 {
		return []any{}
	}
	return plot.Limit{At: missedAt(share, leastMissed(allowed)), Text: chosenShare(share) + " may miss", Look: colours["limit"]}
}

// chosenShare writes a share that was chosen and not measured: 1 %, not 1.00 %.
func chosenShare(v any) string {
	share, _ := number(v)
	return show.Plain(share*100) + " %"
}

// Missed are the points of a share over a multiple. They are drawn larger than one of many dots, because each is a run.
func (r *Result) Missed(x, share string, allowed any) ([]plot.Point, error) {
	points, err := r.Points(x, share, 1)
	for i := range points {
		if !math.IsNaN(points[i].Y) {
			points[i].Y = missedAt(points[i].Y, leastMissed(allowed))
		}
		points[i].Weight = 4
	}
	return points, err
}

// missedBand is the band between two shares.
func missedBand(name string, r *Result, x, low, high string, allowed any) (any, error) {
	from, err := r.Missed(x, low, allowed)
	if err != nil {
		return nil, err
	}
	to, err := r.Missed(x, high, allowed)
	if err != nil {
		return nil, err
	}
	if len(from) == 0 || slices.ContainsFunc(append(slices.Clone(from), to...), func(p plot.Point) bool { return math.IsNaN(p.Y) }) {
		return []any{}, nil
	}
	return band(name, "predicted", from, to)
}

// missedInterval is the limit with its interval, drawn where the share is the allowed one.
func missedInterval(low, middle, high, allowed any) []plot.Point {
	share, isKnown := number(allowed)
	if !isKnown {
		return nil
	}
	var points []plot.Point
	for _, v := range []any{low, middle, high} {
		if x, isThere := number(v); isThere {
			points = append(points, plot.Point{X: x, Y: missedAt(share, leastMissed(allowed))})
		}
	}
	return points
}

// capacityTitle is that of a page about searches alone.
func (p *page) capacityTitle() string {
	if len(p.Searches) != 1 {
		return fmt.Sprintf("%d searches for capacity", len(p.Searches))
	}
	r, err := ask(p.ctx, p.db, "marts.capacities", `select
    'Capacity of ' || coalesce(searched_on, 'a server') || ' for ' || source_name as title
from marts.capacities
where search_id = $1`, p.Searches[0])
	if err != nil || r.Len() == 0 {
		return "Capacity: " + p.Searches[0]
	}
	return r.texts("title")[0]
}
