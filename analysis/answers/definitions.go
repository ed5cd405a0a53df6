package answers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"tidemark/internal/lazy"
	"tidemark/queries"
)

// Relations whose numbers come from other tools: figures have a definition each, and request times depend on the tool.
var (
	readsFigures  = lazy.Regexp(`\b(?:(?:raw|staging|marts)"?\."?figures|marts"?\."?recomputed_figures)\b`)
	readsRequests = lazy.Regexp(`\b(?:raw|staging)"?\."?result_requests\b`)
)

// describes recognises a query about a relation's columns, not its rows.
var describes = lazy.Regexp(`^\s*(?:describe|summarize|explain|show)\b`)

// countsOnly recognises a query that only counts rows.
var countsOnly = lazy.Regexp(`^\s*select\s+count\s*\(\s*\*?\s*\)(?:\s+(?:as\s+)?"?\w+"?)?\s+from\b`)

// byDefinition recognises a definition_id that separates figures: selected, grouped by, or compared with a text or a list.
var byDefinition = lazy.Regexp(
	`(?:\b(?:select|by)\b|,)\s*(?:all\s+|distinct\s+)?(?:\w+\.)?"?definition_id"?\s*(?:,|\bas\b|\bfrom\b|\border\b|\bhaving\b|\blimit\b|\)|;|$)` +
		`|\bdefinition_id"?\s*(?:=|in\b|like\b)`)

// bySource recognises the names or patterns that a query holds its sources to.
var bySource = lazy.Regexp(`\bsource_name"?\s*(?:=|like\b|ilike\b|in\b)\s*\(?\s*((?:'(?:[^']|'')*'[\s,]*)+)`)

// texts matches texts in quotes. A word in them is no name of a relation.
var texts = lazy.Regexp(`'(?:[^']|'')*'`)

// MixedDefinitions is a warning for a query that may average figures of different meaning: it reads figures of other tools without
// naming a definition, and the warehouse holds two or more definitions of a quantity that the query may reach. It is empty when there is
// nothing to warn about.
//
// It judges by the query's words, not by its plan. So it does not see a definition_id that an "or" makes useless, a subquery that reads
// figures while the outer query names a definition, a view of the user's own over figures, or a subquery that takes a mean next to a
// count(*).
func MixedDefinitions(ctx context.Context, db *sql.DB, query string) (string, error) {
	text := strings.ToLower(queries.WithoutComments(query))
	words := texts().ReplaceAllString(text, "''")
	figures, requests := readsFigures().MatchString(words), readsRequests().MatchString(words)
	if !figures && !requests || describes().MatchString(words) || countsOnly().MatchString(words) {
		return "", nil
	}
	var parts []string
	if figures && !byDefinition().MatchString(words) {
		sources, err := json.Marshal(sourcesIn(text))
		if err != nil {
			return "", err
		}
		mixed, err := Ask(ctx, db, mixedQuery, text, string(sources))
		if err != nil {
			return "", err
		}
		for _, row := range mixed.Rows {
			parts = append(parts, fmt.Sprintf("%s (%s)", row[0], row[1]))
		}
		if more := len(parts) - mostSaid; more > 1 {
			parts = append(parts[:mostSaid], fmt.Sprintf("and %d more quantities", more))
		}
	}
	if len(parts) > 0 {
		return "figures of different meaning may be mixed here: " + strings.Join(parts, "; ") +
			`; name one definition_id each; "from seeds.definitions" says what they are`, nil
	}
	if !requests || namesSource().MatchString(words) {
		return "", nil
	}
	tools, err := Ask(ctx, db, toolsQuery)
	if err != nil || len(tools.Rows) == 0 || fmt.Sprint(tools.Rows[0][0]) == "" {
		return "", err
	}
	return fmt.Sprintf("requests timed by different tools may be mixed here: %s; keep to one, by source_id or by staging.points", tools.Rows[0][0]), nil
}

// mostSaid is the number of quantities that the warning names. Nobody reads more.
const mostSaid = 3

// sourcesIn are the names and patterns of sources that a query in small letters names; none: it may reach them all.
func sourcesIn(text string) []string {
	found := []string{}
	for _, list := range bySource().FindAllStringSubmatch(text, -1) {
		for _, quoted := range texts().FindAllString(list[1], -1) {
			found = append(found, strings.ReplaceAll(quoted[1:len(quoted)-1], "''", "'"))
		}
	}
	return found
}

// namesSource recognises a query that separates requests by file or by tool.
var namesSource = lazy.Regexp(`\b(?:source_id|source_name|tool)\b`)

// toolsQuery names the tools whose requests are here; empty for one tool, where nothing can be mixed.
const toolsQuery = `
select case when count(distinct tool) > 1 then string_agg(distinct tool, ', ' order by tool) else '' end as tools
from staging.points
where exists (
    from staging.result_requests
    where result_requests.source_id = points.source_id
        and result_requests.point = points.point
)`

// mixedQuery finds quantities with several definitions among the figures that the query can reach: those of the tools, quantities and sources
// that it names as texts, or all if it names none.
const mixedQuery = `
with asked as (
    select from_json($2::varchar, '["VARCHAR"]') as sources
),

figures as (
    select distinct
        tool,
        quantity,
        definition_id,
        contains($1, '''' || tool || '''') as is_tool_named,
        contains($1, '''' || quantity || '''') as is_quantity_named
    from staging.figures
    left join raw.sources on sources.source_id = figures.source_id
    cross join asked
    where definition_id is not null
        and (len(asked.sources) = 0 or list_bool_or([lower(sources.name) like pattern for pattern in asked.sources]))
),

meant as (
    select *
    from figures
    where (is_tool_named or not (select bool_or(is_tool_named) from figures))
        and (is_quantity_named or not (select bool_or(is_quantity_named) from figures))
)

select
    quantity,
    string_agg(distinct definition_id, ', ' order by definition_id) as definitions
from meant
group by quantity
having count(distinct definition_id) > 1
order by quantity`
