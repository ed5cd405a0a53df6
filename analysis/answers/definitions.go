package answers

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"tidemark/queries"
)

// readsFigures are the relations whose numbers have a definition, or are of tools
// that define them each in their own way.
var (
	readsFigures  = regexp.MustCompile(`\b(?:(?:raw|staging|marts)"?\."?figures|marts"?\."?recomputed_figures)\b`)
	readsRequests = regexp.MustCompile(`\b(?:raw|staging)"?\."?result_requests\b`)
)

// describes is a query for what a relation is like, and not for its rows.
var describes = regexp.MustCompile(`^\s*(?:describe|summarize|explain|show)\b`)

// countsOnly is a query whose first columns are nothing but count(*).
var countsOnly = regexp.MustCompile(`^\s*select\s+count\s*\(\s*\*?\s*\)(?:\s+(?:as\s+)?"?\w+"?)?\s+from\b`)

// byDefinition is a definition_id that tells figures apart: a column asked for or
// grouped by, or one that is compared with a text or a list of them.
var byDefinition = regexp.MustCompile(
	`(?:\b(?:select|by)\b|,)\s*(?:all\s+|distinct\s+)?(?:\w+\.)?"?definition_id"?\s*(?:,|\bas\b|\bfrom\b|\border\b|\bhaving\b|\blimit\b|\)|;|$)` +
		`|\bdefinition_id"?\s*(?:=|in\b|like\b)`)

var texts = regexp.MustCompile(`'(?:[^']|'')*'`)

// MixedDefinitions is a sentence for whoever asks for figures of other tools without
// saying by which definition, where the warehouse holds two or more of a quantity
// that the query may reach; "" where there is nothing to say. It goes by the words of
// the query: tools and quantities that it names are those that it means.
//
// Words are not a plan, so it does not see: a definition_id that is compared beside
// an "or" that lets all others in, a subquery that reads figures while the outer query
// names a definition, a view of the user's own over figures, and a count(*) beside
// which a subquery takes a mean.
func MixedDefinitions(ctx context.Context, db *sql.DB, query string) (string, error) {
	text := strings.ToLower(queries.WithoutComments(query))
	words := texts.ReplaceAllString(text, "''")
	figures, requests := readsFigures.MatchString(words), readsRequests.MatchString(words)
	if !figures && !requests || describes.MatchString(words) || countsOnly.MatchString(words) {
		return "", nil
	}
	var parts []string
	if figures && !byDefinition.MatchString(words) {
		mixed, err := Ask(ctx, db, mixedQuery, text)
		if err != nil {
			return "", err
		}
		for _, row := range mixed.Rows {
			parts = append(parts, fmt.Sprintf("%s (%s)", row[0], row[1]))
		}
	}
	if len(parts) > 0 {
		return "figures of different meaning may be mixed here: " + strings.Join(parts, "; ") +
			`; name one definition_id each; "from seeds.definitions" says what they are`, nil
	}
	if !requests || namesSource.MatchString(words) {
		return "", nil
	}
	tools, err := Ask(ctx, db, toolsQuery)
	if err != nil || len(tools.Rows) == 0 || fmt.Sprint(tools.Rows[0][0]) == "" {
		return "", err
	}
	return fmt.Sprintf("requests timed by different tools may be mixed here: %s; keep to one, by source_id or by staging.points", tools.Rows[0][0]), nil
}

// namesSource tells requests of one file from others: the file, or the tool.
var namesSource = regexp.MustCompile(`\b(?:source_id|source_name|tool)\b`)

// Of tools that time in one way, or of one tool, there is nothing to say.
const toolsQuery = `
select case when count(distinct tool) > 1 then string_agg(distinct tool, ', ' order by tool) else '' end as tools
from staging.points
where exists (
    from staging.result_requests
    where result_requests.source_id = points.source_id
        and result_requests.point = points.point
)`

const mixedQuery = `
with figures as (
    select distinct
        tool,
        quantity,
        definition_id,
        contains($1, '''' || tool || '''') as is_tool_named,
        contains($1, '''' || quantity || '''') as is_quantity_named
    from staging.figures
    where definition_id is not null
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
