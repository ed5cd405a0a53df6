package endings

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/experiment"
)

// arm is one row of an experiment: a run for each repeat that counts.
type arm struct {
	name string
	runs map[int]string // by repeat
}

// arms are the rows in their order, without runs that are invalid or not ingested.
func arms(done []experiment.Done) (all []arm) {
	for _, d := range done {
		for len(all) <= d.Row {
			all = append(all, arm{runs: map[int]string{}})
		}
		all[d.Row].name = d.Value
		if d.Outcome != experiment.Invalid && d.Outcome != experiment.NotTakenIn {
			all[d.Row].runs[d.Repeat] = d.RunID
		}
	}
	return all
}

// beside compares each row of an experiment with the first, repeat by repeat, where both were sent the same plans: routers, settings or versions of a
// server. Of rows that differ in what is sent nothing is said. Rows that got other tokens for the same plan are refused.
func beside(ctx context.Context, db *sql.DB, file experiment.File, done []experiment.Done) (said []string, err error) {
	all := arms(done)
	isOfAddresses := len(file.Varied()) == 1 && file.Varied()[0] == "base-url"
	for i := 1; i < len(all); i++ {
		var before, after []string
		for repeat := range file.Repeats {
			if one, two := all[0].runs[repeat], all[i].runs[repeat]; one != "" && two != "" {
				before, after = append(before, one), append(after, two)
			}
		}
		if len(before) == 0 {
			if isOfAddresses {
				why, err := whyUnusable(ctx, db, done, 0, i)
				if err != nil {
					return nil, err
				}
				said = append(said, fmt.Sprintf("%s beside %s: not compared, no repeat has a usable run of both: %s", all[i].name, all[0].name, why))
			}
			continue
		}
		comparison, err := analysis.Compare(ctx, db, before, after)
		if err != nil {
			return nil, err
		}
		if !comparison.IsOfOnePlan() {
			return nil, nil
		}
		text := comparison.FirstLine()
		if why := comparison.Refused(); why != "" {
			text = "not compared: " + why
		}
		said = append(said, fmt.Sprintf("%s beside %s: %s", all[i].name, all[0].name, text))
	}
	if len(said) == 0 {
		return nil, nil
	}
	for _, a := range all {
		if len(a.runs) == 0 {
			continue
		}
		text, err := a.routing(ctx, db, isOfAddresses)
		if err != nil {
			return nil, err
		}
		said = append(said, a.name+": "+text)
	}
	return said, nil
}

// whyUnusable says of the first unusable run of each of these rows what is wrong with it.
func whyUnusable(ctx context.Context, db *sql.DB, done []experiment.Done, rows ...int) (string, error) {
	var reasons []string
	for _, row := range rows {
		place := slices.IndexFunc(done, func(d experiment.Done) bool {
			return d.Row == row && (d.Outcome == experiment.Invalid || d.Outcome == experiment.NotTakenIn)
		})
		if place < 0 {
			continue
		}
		reason := "its run is not in the warehouse"
		if done[place].Outcome == experiment.Invalid {
			err := db.QueryRowContext(ctx, "select coalesce(any_value(invalid_reason), 'it has no requests') from marts.runs where run_id = ?", done[place].RunID).Scan(&reason)
			if err != nil {
				return "", err
			}
		}
		reasons = append(reasons, done[place].Value+": "+reason)
	}
	return strings.Join(reasons, "; "), nil
}

// routing is what the runs of an arm got, and over which replicas. saysUnknown has it say so where nobody knows the replicas.
func (a arm) routing(ctx context.Context, db *sql.DB, saysUnknown bool) (text string, err error) {
	var runs []any
	for _, run := range a.runs {
		runs = append(runs, run)
	}
	err = warehouse.Each(ctx, db, `
select
    coalesce(sum(completed), 0)::bigint,
    coalesce(sum(asked_tokens), 0)::bigint,
    case when bool_and(got_tokens is not null) then sum(got_tokens)::bigint end,
    min(replicas),
    max(request_cv),
    sum(later_turns)::bigint,
    sum(misrouted_turns) / sum(later_turns),
    avg(cached_ratio),
    avg(shareable_ratio)
from marts.routing
where list_contains(?, run_id)`, []any{runs}, func(scan func(...any) error) error {
		var completed, asked int64
		var got, replicas, turns *int64
		var cv, misrouted, cached, shareable *float64
		if err := scan(&completed, &asked, &got, &replicas, &cv, &turns, &misrouted, &cached, &shareable); err != nil {
			return err
		}
		text = fmt.Sprintf("%s answered, %s tokens asked for", show.Things(completed, "request", "requests"), show.Count(asked))
		if got != nil {
			text += fmt.Sprintf(" and %s got", show.Count(*got))
		}
		if cached != nil {
			text += fmt.Sprintf("; %s of the prompt tokens cached", show.Percent(*cached))
		}
		if cached != nil && shareable != nil {
			text += fmt.Sprintf(" of %s that an earlier request had", show.Percent(*shareable))
		}
		switch {
		case replicas == nil && saysUnknown:
			text += "; which replica answered the servers do not say (--replica-header, or --metrics-url of each replica)"
		case replicas != nil:
			text += "; " + show.Things(*replicas, "replica", "replicas")
		}
		if cv != nil {
			text += fmt.Sprintf(" whose requests scatter by %s (CV)", show.Percent(*cv))
		}
		if turns != nil {
			text += fmt.Sprintf("; %s of %s went where no earlier turn had been", show.Percent(*misrouted), show.Things(*turns, "later turn", "later turns"))
		}
		return nil
	})
	return text, err
}
