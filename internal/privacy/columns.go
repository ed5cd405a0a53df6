//go:build duckdb_arrow

package privacy

import (
	"context"
	"fmt"
	"strings"

	"tidemark/internal/warehouse"
)

// What may stand in a column of text. The kinds differ in how far a stranger
// could have chosen the text.
const (
	aWord     = "word"     // an id, or a word of a fixed set
	aName     = "name"     // a program's name for one of its figures
	someLabel = "labels"   // of a metric
	aSymbol   = "symbol"   // of a kernel: long, and made by a compiler
	measured  = "measured" // typed by someone who ran another tool: short names, no addresses, keys or sentences
	operators = "operator" // typed by whoever runs the benchmark: allowed in a warehouse, left out of exports
	ourOwn    = "ours"     // written by this program
)

// textColumns are all columns of the raw tables that can hold text. A column
// that is missing here fails the check, so that whoever adds one must decide
// what may stand in it.
var textColumns = map[string]string{
	"arrivals.session_id":               aWord,
	"arrivals.class":                    aWord,
	"arrival_details.parent_session_id": aWord,
	"arrival_details.model":             aWord,
	"arrival_details.tenant":            aWord,
	"length_cells.class":                aWord,
	"length_cells.client":               aWord,
	"rate_windows.class":                aWord,
	"rate_windows.client":               aWord,
	"rate_windows.gap_family":           aWord,
	"metrics.name":                      aWord,
	"metrics.labels":                    someLabel,
	"kernels.name":                      aSymbol,
	"kernel_rules.pattern":              operators,
	"kernel_rules.category":             operators,
	"kernel_tables.gpu":                 aName,
	"kernel_tables.engine":              aWord,
	"kernel_tables.engine_version":      aWord,
	"gemm_times.format":                 aWord,
	"gemm_times.kernel":                 aSymbol,
	"expert_times.format":               aWord,
	"expert_times.kernel":               aSymbol,
	"expert_times.router":               aWord,
	"attention_times.phase":             aWord,
	"attention_times.kernel":            aSymbol,
	"attention_times.kv_format":         aWord,
	"mla_times.phase":                   aWord,
	"mla_times.kernel":                  aSymbol,
	"mla_times.model":                   measured,
	"mla_times.format":                  aWord,
	"mla_times.kv_format":               aWord,
	"all_reduce_times.kernel":           aSymbol,
	"model_configs.model":               operators,
	"model_configs.config":              operators,
	"model_configs.spec":                operators,
	"gpus.gpu":                          operators,
	"gpus.aliases":                      operators,
	"gpus.link":                         aWord,
	"prices.gpu":                        operators,
	"prices.label":                      operators,
	"calibrations.run_id":               ourOwn,
	"calibrations.run_ids":              ourOwn,
	"calibrations.gpu":                  ourOwn,
	"calibrations.model":                ourOwn,
	"calibrations.weight_format":        ourOwn,
	"calibrations.kv_format":            ourOwn,
	"calibrations.engine":               ourOwn,
	"calibrations.engine_version":       ourOwn,
	"calibrations.name":                 ourOwn,
	"calibrations.format":               ourOwn,
	"points.tool":                       aWord,
	"points.tool_version":               operators,
	"points.label":                      measured,
	"points.model":                      measured,
	"points.hardware":                   measured,
	"points.engine":                     operators,
	"points.engine_version":             operators,
	"points.load":                       aName,
	"points.settings":                   measured,
	"figures.name":                      aName,
	"figures.statistic":                 aWord,
	"figures.unit":                      aName,
	"result_requests.session_id":        aWord,
	"result_requests.failure":           aName,
	"result_requests.finish_reason":     aWord,
	"documents.path":                    operators,
	"documents.content":                 operators,
	"manifests.document":                ourOwn,
	"requests.run_id":                   ourOwn,
	"requests.session_id":               aWord,
	"requests.class":                    aWord,
	"requests.finish_reason":            aWord,
	"requests.failure":                  aName,
	"requests.failure_detail":           ourOwn,
	"requests.endpoint":                 aWord,
	"runs.run_id":                       ourOwn,
	"runs.document":                     operators,
	"samples.run_id":                    ourOwn,
	"samples.origin":                    aWord,
	"samples.name":                      aWord,
	"samples.labels":                    someLabel,
	"samples.url":                       operators,
	"rejects.column_name":               aName,
	"rejects.reason":                    ourOwn,
	"sources.name":                      operators,
	"sources.kind":                      ourOwn,
	"sources.format":                    ourOwn,
	"sources.path":                      operators,
	"sources.sha256":                    ourOwn,
	"sources.time_unit":                 ourOwn,
	"sources.zone_assumption":           ourOwn,
	"sources.collection":                operators,
	"sources.licence":                   operators,
}

// patterns are the regular expressions of the kinds that SQL can check.
var patterns = map[string]string{
	aWord:     fit.String(),
	aName:     `^[^\n]{1,64}$`,
	someLabel: `^([A-Za-z_:][A-Za-z0-9_:.]*="[^"]{0,200}",?)*$`,
	aSymbol:   `^[^\n]*$`,
}

const rawTextColumns = `
select columns.table_name || '.' || columns.column_name as column_name
from duckdb_columns() as columns
where columns.schema_name = 'raw'
    and regexp_matches(columns.data_type, 'VARCHAR|JSON|BLOB|STRUCT|MAP')
    and not columns.internal
    and columns.database_name = current_database()
order by columns.table_name, columns.column_index`

// inspectText examines the text columns of one source. Columns of fixed shape
// are matched in SQL; those that a person typed into are read value by value.
func (s *subject) inspectText(ctx context.Context, w *warehouse.Warehouse, sources string, args ...any) error {
	found, err := listOf(ctx, w, rawTextColumns)
	if err != nil {
		return err
	}
	for _, name := range found {
		kind, known := textColumns[name]
		if !known {
			s.foreign = append(s.foreign, "raw."+name+": "+notOnTheList)
			continue
		}
		if name == "documents.content" {
			if err := s.inspectDocuments(ctx, w, sources, args...); err != nil {
				return fmt.Errorf("raw.%s: %w", name, err)
			}
		}
		if kind == operators || kind == ourOwn {
			continue
		}
		table, column, _ := strings.Cut(name, ".")
		theirs := "source_id in (" + sources + ")"
		if table == "requests" || table == "samples" {
			theirs = "run_id in (select runs.run_id from raw.runs where runs." + theirs + ")"
		}
		if kind == measured || kind == someLabel || strings.HasSuffix(name, ".class") {
			if err := s.inspectValues(ctx, w, name, kind, theirs, args...); err != nil {
				return fmt.Errorf("raw.%s: %w", name, err)
			}
		}
		if kind == measured {
			continue
		}
		c := textColumn{name: name, mayBeLong: kind != aWord}
		err := w.DB().QueryRowContext(ctx, fmt.Sprintf(`
			select count(%[1]s), coalesce(sum(length(%[1]s)), 0)::bigint, count(*) filter (where not regexp_full_match(%[1]s, '%[2]s'))
			from raw.%[3]s
			where %[4]s`, column, patterns[kind], table, theirs), args...).Scan(&c.values, &c.length, &c.unfit)
		if err != nil {
			return fmt.Errorf("raw.%s: %w", name, err)
		}
		s.columns = append(s.columns, c)
	}
	return nil
}

// listOf returns the single text column of a query.
func listOf(ctx context.Context, w *warehouse.Warehouse, query string, args ...any) (list []string, err error) {
	rows, err := w.DB().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
