//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"

	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// CompareWithout compares two runs by the requests that are not of a class, where one run was sent with the class and the other without it
// (plan --without-class): what the class does to all others. The runs are copied without the class into a warehouse of their own, as runs of one plan,
// so that the others are paired request by request. path is the file of the user's warehouse. said is the effect in a line.
func CompareWithout(ctx context.Context, path, before, after, class string) (c Comparison, said string, err error) {
	runs := []string{before, after}
	copies := func(conn *sql.Conn) error { return copyOthers(ctx, conn, runs, class) }
	err = inScratch(ctx, path, copies, "", func(db *sql.DB) error {
		if c, err = Compare(ctx, db, runs[:1], runs[1:]); err != nil {
			return err
		}
		of := map[string]int64{}
		err = each(ctx, db, "select run_id, (document ->> '$.left_out')::bigint from raw.runs", nil, func(scan func(...any) error) error {
			var run string
			var n int64
			err := scan(&run, &n)
			of[run] = n
			return err
		})
		if err == nil {
			said, err = c.effectOf(class, of[before], of[after])
		}
		return err
	})
	return c, said, err
}

// copyOthers copies the runs without the requests of a class, and gives the others the places that they have among themselves.
func copyOthers(ctx context.Context, conn *sql.Conn, runs []string, class string) error {
	for _, table := range []string{"gpus", "model_configs", "calibrations", "prices"} {
		if err := copyRows(ctx, conn, table, "true"); err != nil {
			return err
		}
	}
	for _, table := range []string{"runs", "samples"} {
		if err := copyRows(ctx, conn, table, "list_contains(?::varchar[], run_id)", runs); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, `
insert into raw.requests by name
select * replace (row_number() over (partition by run_id order by seq) - 1 as seq)
from judged.raw.requests
where list_contains($1::varchar[], run_id)
    and class is distinct from $2`, runs, class)
	if err != nil {
		return err
	}
	var unlike int64
	err = conn.QueryRowContext(ctx, `
select count(*)
from (from raw.requests where run_id = $1) as one
full join (from raw.requests where run_id = $2) as two using (seq)
where one.input_tokens is distinct from two.input_tokens
    or one.output_tokens is distinct from two.output_tokens
    or one.class is distinct from two.class
    or one.session_id is distinct from two.session_id`, runs[0], runs[1]).Scan(&unlike)
	if err != nil {
		return err
	}
	if unlike > 0 {
		return hint.Misuse("compare: --without-class %s: the runs did not send the same requests of other classes: %s differ", class, show.Count(unlike)).
			Hint("send one plan with the class and one without it: tidemark plan ... --without-class %s --output FILE", class)
	}
	_, err = conn.ExecContext(ctx, `
update raw.runs
set document = json_merge_patch(document, json_object(
    'plan', json_object('fingerprint', 'of the other classes'),
    'result', json_object('sent', null, 'completed', null), -- counts of all classes
    'left_out', (select count(*) from judged.raw.requests where requests.run_id = runs.run_id and class = ?)
))`, class)
	return err
}

// effectOf is what a class of which the runs sent so many requests does to the TTFT of the others: by the highest percentile that has an
// interval.
func (c Comparison) effectOf(class string, before, after int64) (string, error) {
	if (before == 0) == (after == 0) {
		return "", hint.Misuse("compare: --without-class %s: %s and %s are of that class, and one run should have none", class,
			show.Things(before, "request", "requests"), show.Things(after, "request", "requests"))
	}
	for _, statistic := range []string{"p99", "p95", "p90", "p50"} {
		for _, row := range c.Results.Records() {
			ratio, _ := row["ratio"].(float64)
			low, isKnown := row["low_ratio"].(float64)
			high, _ := row["high_ratio"].(float64)
			if row["metric"] != "ttft_s" || row["statistic"] != statistic || !isKnown {
				continue
			}
			if before > 0 {
				ratio, low, high = 1/ratio, 1/high, 1/low
			}
			return fmt.Sprintf("%s of class %s make the %s TTFT of %v other requests %s times (%s to %s)", show.Things(max(before, after), "request", "requests"),
				class, statistic, row["samples"], show.Figures(ratio), show.Figures(low), show.Figures(high)), nil
		}
	}
	return fmt.Sprintf("too few other requests to say what class %s does to their TTFT", class), nil
}
