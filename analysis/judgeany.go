//go:build duckdb_arrow

package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// Any SLO on anything that has requests: a run, whatever SLO it was made for, or a result of another tool. There is one judge, marts.slo, and
// it reads the SLO and the requests of runs. So the subject is copied into a warehouse in memory as a run that carries this SLO. The user's
// warehouse stays as it is.
//
// Of another tool's requests, the order in the file stands for the time where the file has no times. Its TTFT is from sent: an objective from
// due needs due times. Nothing is known of its client, so that it counts as valid.

// VerdictReads are the relations that JudgeSLO reads. Filling these alone costs half of filling every kept table.
const VerdictReads = "marts.runs marts.failures marts.slo marts.verdicts marts.goodput marts.shared_servers marts.tpot_gap_judged " +
	"marts.server_processes marts.served_models staging.requests staging.runs staging.deployments staging.slo_objectives"

// AnyVerdict is the verdict of one subject.
type AnyVerdict struct {
	SLOVerdict
	Subject string // the run, or SOURCE#POINT
	Tool    string // that measured it; empty for a run
}

// FirstLine is that of a run. Of another tool it is the SLO alone: its client, its deployment and a prediction are not known.
func (v AnyVerdict) FirstLine() string {
	if v.Tool == "" {
		return v.SLOVerdict.FirstLine()
	}
	said := v.having(v.Outcome)
	texts := make([]string, len(said))
	for i, o := range said {
		texts[i] = o.String()
	}
	return fmt.Sprintf("SLO %s %s: %s; measured by %s, whose own lateness is not known", v.Name, v.outcomeText(said), strings.Join(texts, ", "), v.Tool)
}

// judgedSubject is one thing to judge: a run, or one point of a source.
type judgedSubject struct {
	name, runID, tool string
	sourceID          int64
	point             int
	hasDue            bool
}

// JudgeAny judges a run, all measurements of a source that have requests, or one of them (SOURCE#POINT) by an SLO. path is the file of the
// warehouse that db has open.
func JudgeAny(ctx context.Context, db *sql.DB, path, name string, slo SLO) ([]AnyVerdict, error) {
	subjects, err := judgedSubjects(ctx, db, name)
	if err != nil {
		return nil, err
	}
	for _, s := range subjects {
		for _, objective := range slo.Objectives {
			if s.runID == "" && !s.hasDue && strings.HasSuffix(objective.Metric, "_from_due") {
				return nil, hint.Misuse("judge %s: %s: the file does not say when its requests were due", s.name, objective).
					Hint("judge it by %s, which is from sent", strings.TrimSuffix(objective.Metric, "_from_due"))
			}
			if s.runID == "" && objective.Class != "" {
				return nil, hint.Misuse("judge %s: %s: requests of other tools have no class", s.name, objective).
					Hint("leave the class out")
			}
		}
	}
	var verdicts []AnyVerdict
	err = inScratch(ctx, path, func(conn *sql.Conn) error { return copySubjects(ctx, conn, subjects, slo) }, func(scratch *sql.DB) error {
		for _, s := range subjects {
			id := s.runID
			id = cmp.Or(id, s.name)
			verdict, err := JudgeSLO(ctx, scratch, id)
			if err != nil {
				return err
			}
			verdicts = append(verdicts, AnyVerdict{SLOVerdict: verdict, Subject: s.name, Tool: s.tool})
		}
		return nil
	}, VerdictReads)
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", name, err)
	}
	return verdicts, nil
}

// WithSLO gives use a warehouse that holds these runs as if they had been sent for this SLO, with the traces that they were planned from.
// path is the file of the user's warehouse, which stays as it is. Where use reads few relations, asked names them, and no others are filled.
func WithSLO(ctx context.Context, path string, runs []string, slo SLO, use func(*sql.DB) error, asked ...string) error {
	subjects := make([]judgedSubject, len(runs))
	for i, run := range runs {
		subjects[i] = judgedSubject{name: run, runID: run}
	}
	copy := func(conn *sql.Conn) error {
		for _, table := range []string{"sources", "capacities", "metrics", "kernels", "kernel_tables", "gemm_times", "expert_times", "attention_times", "mla_times", "all_reduce_times", "exchange_times"} {
			if err := copyRows(ctx, conn, table, "true"); err != nil {
				return err
			}
		}
		err := copyRows(ctx, conn, "arrivals", `source_id in (
    select source_id from judged.raw.sources
    where sha256 in (select document ->> '$.plan.source_sha256' from judged.raw.runs where list_contains(?::varchar[], run_id)))`, runs)
		if err != nil {
			return err
		}
		return copySubjects(ctx, conn, subjects, slo)
	}
	return inScratch(ctx, path, copy, use, asked...)
}

// inScratch makes a warehouse of its own, fills it from the file at path, which is attached to the connection as judged, and gives it to use.
// With relations asked, only what these read is filled.
func inScratch(ctx context.Context, path string, fill func(*sql.Conn) error, use func(*sql.DB) error, asked ...string) error {
	folder, err := os.MkdirTemp("", "tidemark-judge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	// A file is a copy of the packed empty warehouse; one in memory would make every view anew.
	scratch, err := warehouse.Open(ctx, filepath.Join(folder, "scratch.duckdb"), warehouse.ReadWrite)
	if err != nil {
		return err
	}
	defer scratch.Close()
	if err := fillScratch(ctx, scratch, path, fill, asked); err != nil {
		return err
	}
	return use(scratch.DB())
}

// fewRequests are planned for longer than they are computed: a second thread would cost more than it does.
const fewRequests = 20_000

// fillScratch does it on one connection, because an attached file belongs to one connection's statements.
func fillScratch(ctx context.Context, w *warehouse.Warehouse, path string, fill func(*sql.Conn) error, asked []string) error {
	conn, err := w.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("attach '%s' as judged (read_only)", strings.ReplaceAll(path, "'", "''"))); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "detach judged")
	// What is called a table there may be a view of a stranger, which reads files.
	if _, err := conn.ExecContext(ctx, "set enable_external_access = false"); err != nil {
		return err
	}
	if err := fill(conn); err != nil {
		return err
	}
	var requests int
	if err := conn.QueryRowContext(ctx, "select count(*) from raw.requests").Scan(&requests); err != nil {
		return err
	}
	if requests < fewRequests {
		if err := w.OneThread(ctx); err != nil {
			return err
		}
	}
	return warehouse.Sparingly(ctx, w.DB(), func(ctx context.Context) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a commit this does nothing
		if err := warehouse.RefreshWithin(ctx, tx, asked...); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// copyRows copies the rows of a raw table that fulfil a condition.
func copyRows(ctx context.Context, conn *sql.Conn, table, condition string, args ...any) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("insert into raw.%s by name select * from judged.raw.%[1]s where %s", table, condition), args...)
	return err
}

// judgedSubjects finds what a name means. A run comes before a source of the same name.
func judgedSubjects(ctx context.Context, db *sql.DB, name string) ([]judgedSubject, error) {
	var runs int
	if err := db.QueryRowContext(ctx, "select count(*) from staging.runs where run_id = ?", name).Scan(&runs); err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if runs > 0 {
		return []judgedSubject{{name: name, runID: name}}, nil
	}
	subjects, err := warehouse.All(ctx, db, `
select
    points.source_name || '#' || points.point,
    points.tool,
    points.source_id,
    points.point,
    bool_and(result_requests.due_s is not null)
from staging.points
inner join staging.result_requests
    on result_requests.source_id = points.source_id
    and result_requests.point = points.point
where $1 in (points.source_name, points.source_name || '#' || points.point)
group by all
order by points.point`, []any{name}, func(s *judgedSubject) []any {
		return []any{&s.name, &s.tool, &s.sourceID, &s.point, &s.hasDue}
	})
	if err != nil || len(subjects) > 0 {
		return subjects, err
	}
	var measurements int
	if err := db.QueryRowContext(ctx, "select count(*) from staging.points where source_name = ?", name).Scan(&measurements); err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if measurements > 0 {
		return nil, hint.Misuse("judge %s: it has figures and no requests, and an SLO is judged by requests", name).
			Hint(`see its percentiles: tidemark sql "from marts.points where source_name = '%s'"`, name)
	}
	return nil, unknown(ctx, db, "run", name, `
select run_id from staging.runs
union
select source_name from staging.points where source_id in (select source_id from staging.result_requests)
limit 10`, "or name a result of another tool that has its requests")
}

// copySubjects copies what a verdict needs. A run takes along everything of its own, because its validity rests on it, and the catalogue
// that the user added to.
func copySubjects(ctx context.Context, conn *sql.Conn, subjects []judgedSubject, slo SLO) error {
	text, err := json.Marshal(slo)
	if err != nil {
		return err
	}
	for _, table := range []string{"gpus", "model_configs", "calibrations", "prices"} {
		if err := copyRows(ctx, conn, table, "true"); err != nil {
			return err
		}
	}
	for _, s := range subjects {
		if s.runID == "" {
			if err := copyResult(ctx, conn, s, string(text)); err != nil {
				return err
			}
			continue
		}
		for _, table := range []string{"runs", "requests", "samples"} {
			if err := copyRows(ctx, conn, table, "run_id = ?", s.runID); err != nil {
				return err
			}
		}
	}
	_, err = conn.ExecContext(ctx, "update raw.runs set document = json_merge_patch(document, json_object('slo', null), json_object('slo', ?::json))", string(text))
	return err
}

// copyResult makes a run of a measurement of another tool, by the definitions of staging.result_requests.
func copyResult(ctx context.Context, conn *sql.Conn, s judgedSubject, slo string) error {
	for _, table := range []string{"points", "result_requests"} {
		if err := copyRows(ctx, conn, table, "source_id = ? and point = ?", s.sourceID, s.point); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, `
insert into raw.runs (run_id, source_id, document)
select $1, $2, json_object('status', 'done', 'ended_at', '2000-01-01T00:00:00Z', 'result', {'is_valid': true}, 'slo', $3::json)`, s.name, s.sourceID, slo)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `
insert into raw.requests by name
with placed as (
    select
        *,
        coalesce(due_s, sent_s, seq::double) as at_s,
        coalesce(sent_s, due_s, seq::double) as began_s
    from staging.result_requests
    where source_id = $2
        and point = $3
),
beginning as (
    select min(at_s) as first_s
    from placed
)
select
    $1 as run_id,
    seq,
    is_warm_up,
    coalesce(input_tokens, 0) as input_tokens,
    coalesce(output_tokens, 0) as output_tokens,
    at_s - first_s as due_s,
    began_s - first_s as sent_s,
    began_s - first_s + ttft_s as first_token_s,
    began_s - first_s + e2e_s as last_token_s,
    began_s - first_s + coalesce(e2e_s, ttft_s, 0) as done_s,
    output_tokens as output_tokens_reported,
    failure,
    case when len(gaps_us) > 0 then list_transform(
        range(len(gaps_us) + 1), lambda i: ((ttft_s * 1e6)::bigint + coalesce(list_sum(gaps_us[1:i]), 0))::bigint
    ) end as chunk_offsets_us
from placed
cross join beginning`, s.name, s.sourceID, s.point)
	return err
}
