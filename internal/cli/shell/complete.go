package shell

import (
	"regexp"
	"slices"
	"strings"

	"tidemark/queries"
)

var (
	lastWord = regexp.MustCompile(`[\w.]*$`)
	// A relation that a statement names, and the name that it gives to it.
	namedRelation = regexp.MustCompile(`\b((?:raw|seeds|staging|marts|checks)\.\w+)(?:\s+(?:as\s+)?(\w+))?`)
	// Before the word stands what only a relation can follow.
	wantsRelation = regexp.MustCompile(`(?i)\b(?:from|join|describe|summarize)\s+[\w.]*$`)
)

var keywords = []string{
	"and", "as", "asc", "between", "by", "case", "count(*)", "cross join", "desc", "describe", "distinct", "else", "end", "exclude", "filter", "from",
	"full join", "group by", "having", "in", "inner join", "is not null", "is null", "join", "left join", "like", "limit", "not", "nulls last", "offset", "on",
	"or", "order by", "over", "partition by", "pivot", "qualify", "quantile_cont(", "select", "summarize", "then", "union all", "using", "values", "when",
	"where", "with",
}

var schemas = []string{"marts", "staging", "checks", "seeds", "macros", "raw"}

// completions are what the last word of a statement may become. before is the statement up to the cursor, whole all of it: a
// column may be typed before the relation that has it. word is the part that is replaced.
func (c catalogue) completions(before, whole string) (word string, found []thing) {
	word = lastWord.FindString(before)
	if place := strings.LastIndexByte(word, '.'); place >= 0 {
		return c.dotted(word, word[:place], whole)
	}
	if wantsRelation.MatchString(before) {
		return word, c.named(word)
	}
	for _, relation := range relationsIn(whole) {
		for _, column := range c.columns[relation] {
			found = appendNew(found, column, word)
		}
	}
	if word == "" {
		return word, found
	}
	for _, schema := range schemas {
		found = appendNew(found, thing{schema + ".", ""}, word)
	}
	for _, keyword := range keywords {
		found = appendNew(found, thing{keyword, ""}, word)
	}
	return word, found
}

// dotted completes a word with a dot: a relation of a schema, or a column of a relation by its name or by the name that the statement
// gives to it.
func (c catalogue) dotted(word, before, whole string) (string, []thing) {
	var found []thing
	if slices.Contains(schemas, before) {
		for _, one := range slices.Concat(c.relations, c.macros) {
			found = appendNew(found, one, word)
		}
		return word, found
	}
	start := word[len(before)+1:]
	for _, match := range namedRelation.FindAllStringSubmatch(whole, -1) {
		_, bare, _ := strings.Cut(match[1], ".")
		if before != match[1] && before != bare && before != match[2] {
			continue
		}
		for _, column := range c.columns[match[1]] {
			found = appendNew(found, column, start)
		}
	}
	return start, found
}

// named are schemas and relations that begin with a word, with their schema or without it.
func (c catalogue) named(word string) (found []thing) {
	for _, schema := range schemas {
		found = appendNew(found, thing{schema + ".", ""}, word)
	}
	if word == "" {
		for _, name := range queries.StartHere {
			if i := slices.IndexFunc(c.relations, func(one thing) bool { return one.name == name }); i >= 0 {
				found = append(found, c.relations[i])
			}
		}
		return found
	}
	for _, one := range c.relations {
		if _, bare, _ := strings.Cut(one.name, "."); strings.HasPrefix(bare, word) {
			found = append(found, one)
		}
	}
	return found
}

func relationsIn(statement string) (found []string) {
	for _, match := range namedRelation.FindAllStringSubmatch(statement, -1) {
		if !slices.Contains(found, match[1]) {
			found = append(found, match[1])
		}
	}
	return found
}

// appendNew adds a thing that begins with the word and is not there yet.
func appendNew(found []thing, one thing, word string) []thing {
	isThere := slices.ContainsFunc(found, func(other thing) bool { return other.name == one.name })
	if isThere || !strings.HasPrefix(one.name, strings.ToLower(word)) {
		return found
	}
	return append(found, one)
}

// commonStart is the longest beginning that all names share.
func commonStart(found []thing) string {
	start := found[0].name
	for _, one := range found[1:] {
		for !strings.HasPrefix(one.name, start) {
			start = start[:len(start)-1]
		}
	}
	return start
}
