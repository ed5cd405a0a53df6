//go:build duckdb_arrow

package privacy

import (
	"context"
	"fmt"
	"strings"

	"tidemark/internal/store/warehouse"
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

// textColumns are all columns of the raw tables that can hold text, by what may stand in
// them. A column that is missing here fails the check, so that whoever adds one must decide
// what may stand in it.
var textColumns = func() map[string]string {
	kindOf := map[string]string{}
	for kind, columns := range map[string]string{
		aWord: `exchange_times.operation arrivals.session_id arrivals.class arrival_details.parent_session_id arrival_details.model arrival_details.tenant
			length_cells.class length_cells.client rate_windows.class rate_windows.client rate_windows.gap_family metrics.name
			kernel_tables.engine kernel_tables.engine_version gemm_times.format expert_times.format expert_times.router
			attention_times.phase attention_times.kv_format mla_times.phase mla_times.format mla_times.kv_format gpus.link
			points.tool figures.statistic result_requests.session_id result_requests.finish_reason requests.session_id
			requests.class requests.finish_reason requests.endpoint samples.origin samples.name steps.engine`,
		aName:     `kernel_tables.gpu points.load figures.name figures.unit result_requests.failure requests.failure rejects.column_name`,
		someLabel: `metrics.labels samples.labels`,
		aSymbol:   `kernels.name gemm_times.kernel expert_times.kernel attention_times.kernel mla_times.kernel all_reduce_times.kernel exchange_times.kernel`,
		measured:  `mla_times.model points.label points.model points.hardware points.settings`,
		operators: `kernel_rules.pattern kernel_rules.category model_configs.model model_configs.config model_configs.spec gpus.gpu
			gpus.aliases prices.gpu prices.label points.tool_version points.engine points.engine_version documents.path
			documents.content runs.document decisions.document capacities.header capacities.runs capacities.answer service_files.path service_files.content service_weeks.service service_weeks.document
			service_files.service shape_capacities.document studies.study studies.document service_demands.service service_demands.document service_demands.samples samples.url sources.name sources.path sources.collection sources.licence sources.read_as`,
		ourOwn: `calibrations.run_id calibrations.run_ids calibrations.gpu calibrations.model calibrations.weight_format
			calibrations.kv_format calibrations.engine calibrations.engine_version calibrations.name calibrations.format capacities.search_id service_weeks.week service_weeks.file_sha256 service_files.file_sha256 shape_capacities.capacity_key service_demands.week service_demands.demand_key
			manifests.document decisions.decision_id decisions.run_id decisions.status requests.run_id requests.failure_detail runs.run_id samples.run_id step_joins.run_id rejects.reason sources.kind
			sources.format sources.sha256 sources.time_unit sources.zone_assumption`,
	} {
		for _, column := range strings.Fields(columns) {
			kindOf[column] = kind
		}
	}
	return kindOf
}()

// patterns are the regular expressions of the kinds that SQL can check.
var patterns = map[string]string{
	aWord:     aFit,
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
	found, err := warehouse.Values[string](ctx, w.DB(), rawTextColumns)
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
