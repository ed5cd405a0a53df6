package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"tidemark/queries"
)

var readsFigures = regexp.MustCompile(`\b(?:raw|staging|marts)"?\."?figures\b`)

// describes is a query for what a relation is like, and not for its rows.
var describes = regexp.MustCompile(`^\s*(?:describe|summarize|explain|show)\b`)

// MixedDefinitions is a sentence for whoever asks for figures of other tools without
// saying by which definition, where the warehouse holds two or more of a quantity
// that the query may reach; "" where there is nothing to say. It goes by the words of
// the query: tools and quantities that it names are those that it means.
func MixedDefinitions(ctx context.Context, db *sql.DB, query string) (string, error) {
	text := strings.ToLower(queries.WithoutComments(query))
	if !readsFigures.MatchString(text) || strings.Contains(text, "definition_id") || describes.MatchString(text) {
		return "", nil
	}
	mixed, err := ask(ctx, db, mixedQuery, text)
	if err != nil || len(mixed.Rows) == 0 {
		return "", err
	}
	var parts []string
	for _, row := range mixed.Rows {
		parts = append(parts, fmt.Sprintf("%s (%s)", row[0], row[1]))
	}
	return "figures of different meaning may be mixed here: " + strings.Join(parts, "; ") +
		`; name one definition_id each; "from seeds.definitions" says what they are`, nil
}

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
