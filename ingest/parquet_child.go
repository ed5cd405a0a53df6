package ingest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tidemark/ingest/hardware"
	"tidemark/ingest/read"
	"tidemark/ingest/traces"
	"tidemark/internal/store/warehouse"
)

// exitUnreadable is how the other process ends when the file cannot be read; its
// stderr says why, without a word of the file's content.
const exitUnreadable = 3

// Child does the work of a process that was started to read a Parquet file, and
// ends the process. A program that takes files in calls it before anything else.
func Child() {
	told := os.Getenv(errandVariable)
	if told == "" {
		return
	}
	limitChild()
	if err := runErrand(told); err != nil {
		fmt.Fprintln(os.Stderr, kindOfError(err))
		os.Exit(exitUnreadable)
	}
	os.Exit(0)
}

// limitChild keeps the process from growing, from writing files, and from leaving a
// core dump.
func limitChild() {
	const addresses = 16 << 30 // bytes; most of it is never used
	for kind, limit := range map[int]uint64{unix.RLIMIT_AS: addresses, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0} {
		_ = unix.Setrlimit(kind, &unix.Rlimit{Cur: limit, Max: limit})
	}
}

// kindOfError is the kind of a DuckDB error, whose words may hold values of the file.
func kindOfError(err error) string {
	kind, _, _ := strings.Cut(err.Error(), ":")
	if !read.NameLike().MatchString(kind) {
		kind = "it cannot be read"
	}
	return kind
}

// foreignFile is the open file that the parent passes on; the process needs no
// right to open any.
const foreignFile = "/dev/fd/3"

// runErrand writes the head, then the rows. DuckDB may open nothing but the file
// and stdout, and cannot be told otherwise later.
func runErrand(told string) error {
	var of parquetErrand
	if err := json.Unmarshal([]byte(told), &of); err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	opening := []string{
		"set memory_limit = '1GB'", "set threads = 2", "set temp_directory = ''", "set autoinstall_known_extensions = false", "set autoload_known_extensions = false",
	}
	if of.IsDuckDB { // attaching asks for more than the file: it comes before access ends
		opening = append(opening, "attach '"+foreignFile+"' as lab (read_only)")
	}
	opening = append(opening, "set allowed_paths = ['"+foreignFile+"', '/dev/stdout']", "set enable_external_access = false", "set lock_configuration = true")
	for _, setting := range opening {
		if _, err := db.Exec(setting); err != nil {
			return err
		}
	}
	if of.IsDuckDB {
		return rounds(db)
	}
	head, columns, err := lookAt(db, of)
	if err != nil {
		return err
	}
	if err := answer(head); err != nil || len(columns) == 0 {
		return err
	}
	as := "json"
	if read.HasAll(head.Names, hardware.KernelTableMarks...) {
		as = "csv, header"
	}
	_, err = db.Exec(fmt.Sprintf("copy (select %s from read_parquet('%s')) to '/dev/stdout' (format %s)", strings.Join(columns, ", "), foreignFile, as))
	return err
}

// answer writes the line before the rows.
func answer(head parquetHead) error {
	line, err := json.Marshal(head)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	return err
}

// traceLabTables are what a TraceLab database has rounds in.
var traceLabTables = []string{"rounds", "timing_events"}

// rounds writes TraceLab's rounds as its JSON lines have them. round_pk is the order of those lines.
func rounds(db *sql.DB) error {
	names, err := warehouse.Values[string](context.Background(), db, "select table_name from duckdb_tables() where database_name = 'lab'")
	head := parquetHead{Names: names}
	if err := errors.Join(err, answer(head)); err != nil || !read.HasAll(head.Names, traceLabTables...) {
		return err
	}
	_, err = db.Exec(`
copy (
    select r.session_id, round_index, round_id, provider, model, input_tokens_total, prefix_tokens, newly_append_tokens, output_tokens,
           [{event_type: e.event_type, "timestamp": strftime(make_timestamp(e.at_us), '%Y-%m-%dT%H:%M:%S.%fZ')} for e in events] as timing_events
    from lab.rounds r
    left join (select round_pk, list({event_type: event_type, at_us: epoch_us("timestamp")} order by event_index) as events
               from lab.timing_events group by round_pk) using (round_pk)
    order by round_pk
) to '/dev/stdout' (format json)`)
	return err
}

// lookAt says what the columns are and which of them are of use. A column of words
// is a text if its first 1,000 values are longer than 64 bytes on average.
func lookAt(db *sql.DB, of parquetErrand) (head parquetHead, columns []string, err error) {
	use, err := traces.ColumnUse(of.Columns)
	if err != nil {
		return head, nil, errors.New("the columns that were said")
	}
	var unsure []string // texts, maybe
	err = warehouse.Each(context.Background(), db, "select column_name, column_type from (describe select * from read_parquet('"+foreignFile+"'))", nil, func(scan func(...any) error) error {
		var name, kind string
		if err := scan(&name, &kind); err != nil {
			return err
		}
		head.Names = append(head.Names, name)
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		isList := strings.HasSuffix(kind, "[]")
		switch ofRequest, isText := use(name); {
		case name == "requests" && isList, ofRequest, strings.HasPrefix(kind, "STRUCT") && !isList && !isText:
			head.Read = append(head.Read, name)
			if kind == "DOUBLE" || kind == "FLOAT" {
				quoted = fmt.Sprintf("nullif(%s::varchar, 'nan') as %s", quoted, quoted) // JSON has no NaN
			}
			columns = append(columns, quoted)
		case isText && (kind == "VARCHAR" || isList || strings.HasPrefix(kind, "STRUCT")):
			head.Texts = append(head.Texts, name)
		case kind == "VARCHAR":
			unsure = append(unsure, name)
		}
		return nil
	})
	if err != nil {
		return head, nil, err
	}
	if read.HasAll(head.Names, hardware.KernelTableMarks...) {
		head, columns = kernelHead(head.Names)
		return head, columns, nil
	}
	for _, name := range unsure {
		var mean sql.NullFloat64
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		err := db.QueryRow(fmt.Sprintf("select avg(length(%s)) from (select %s from read_parquet('%s') limit 1000)", quoted, quoted, foreignFile)).Scan(&mean)
		if err != nil {
			return head, nil, err
		}
		if mean.Float64 > 64 {
			head.Texts = append(head.Texts, name)
		}
	}
	return head, columns, nil
}

// kernelHead picks the columns of a table of kernel times that are read.
func kernelHead(names []string) (head parquetHead, columns []string) {
	head.Names = names
	for _, name := range names {
		if slices.Contains(hardware.KernelColumns, name) {
			head.Read = append(head.Read, name)
			columns = append(columns, `"`+name+`"`)
		}
	}
	return head, columns
}
