package week

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// The rules of a diagnosis (seeds.symptoms, seeds.symptom_conditions) applied to figures that are held in a map, as those of an hour are. The
// same rules are applied to runs in queries/marts/diagnoses.sql; a test compares the two.

// rule is a symptom with its conditions.
type rule struct {
	seq                                     int
	symptom, kind, title, confirm, firstTry string
	unless                                  []string
	conditions                              []condition
}

// condition is a figure compared with a bound, or with a bound times another figure.
type condition struct {
	alternative            int
	role                   string
	figure, unit, says     string
	comparison             string
	bound                  float64
	timesFigure, timesSays string
}

// readRules reads all rules in the order in which they are read.
func readRules(ctx context.Context, db *sql.DB) ([]rule, error) {
	var rules []rule
	err := warehouse.Each(ctx, db, `
select
    s.seq,
    s.symptom,
    s.kind,
    s.title,
    s.confirm_with,
    s.first_response,
    array_to_string(s.unless, ';'),
    c.alternative,
    c.role,
    c.figure,
    coalesce(c.unit, ''),
    coalesce(c.says, c.figure),
    c.comparison,
    c.bound,
    coalesce(c.times_figure, ''),
    coalesce(c.times_says, '')
from staging.symptoms as s
inner join staging.symptom_conditions as c on c.symptom = s.symptom
order by
    s.seq,
    s.symptom,
    c.seq`, nil, func(scan func(...any) error) error {
		var r rule
		var c condition
		var unless string
		err := scan(&r.seq, &r.symptom, &r.kind, &r.title, &r.confirm, &r.firstTry, &unless,
			&c.alternative, &c.role, &c.figure, &c.unit, &c.says, &c.comparison, &c.bound, &c.timesFigure, &c.timesSays)
		if err != nil {
			return err
		}
		if len(rules) == 0 || rules[len(rules)-1].symptom != r.symptom {
			r.unless = strings.FieldsFunc(unless, func(c rune) bool { return c == ';' })
			rules = append(rules, r)
		}
		last := &rules[len(rules)-1]
		last.conditions = append(last.conditions, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("symptoms: %w", err)
	}
	return rules, nil
}

// isKnown says that the figures hold what the condition compares.
func (c condition) isKnown(figures map[string]float64) bool {
	_, isKnown := figures[c.figure]
	if c.timesFigure != "" && isKnown {
		_, isKnown = figures[c.timesFigure]
	}
	return isKnown
}

// limit is what the figure is compared with.
func (c condition) limit(figures map[string]float64) float64 {
	if c.timesFigure == "" {
		return c.bound
	}
	return c.bound * figures[c.timesFigure]
}

// holds says that the figure is known and on the side of the bound that is asked for.
func (c condition) holds(figures map[string]float64) bool {
	if !c.isKnown(figures) {
		return false
	}
	value, limit := figures[c.figure], c.limit(figures)
	switch c.comparison {
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "<":
		return value < limit
	}
	return value <= limit
}

// told is the condition with its figures: requests that wait 12.0 (above 3), or 2.00 (not above 3).
func (c condition) told(figures map[string]float64) string {
	words := map[string]string{">": "above", ">=": "at least", "<": "below", "<=": "at most"}[c.comparison]
	if !c.holds(figures) {
		words = "not " + words
	}
	value, limit := figure(figures[c.figure], c.unit), figure(c.limit(figures), c.unit)
	if difference := figures[c.figure] - c.limit(figures); value == limit && difference != 0 { // rounding hides which is more
		value = map[bool]string{true: "just above ", false: "just below "}[difference > 0] + value
	}
	if c.timesSays != "" {
		limit += ", " + c.timesSays
		if c.bound != 1 {
			limit = fmt.Sprintf("%s times %s, %s", show.Figures(c.bound), figure(figures[c.timesFigure], c.unit), c.timesSays)
		}
	}
	return fmt.Sprintf("%s %s (%s %s)", c.says, value, words, limit)
}

// figure writes a value with its unit, as macros.figure_text does.
func figure(value float64, unit string) string {
	switch unit {
	case "flag":
		return map[bool]string{true: "yes", false: "no"}[value > 0]
	case "s":
		return show.Duration(value)
	case "per_s":
		return show.Figures(value) + "/s"
	case "byte_per_s":
		return show.Figures(value/1e9) + " GB/s"
	case "C":
		return show.Figures(value) + " °C"
	case "tokens":
		return show.Count(value) + " tokens"
	}
	if value == float64(int64(value)) && unit != "ratio" {
		return show.Count(value)
	}
	return show.Figures(value)
}

// alternatives are the conditions that fire the symptom, each list of them alone.
func (r rule) alternatives() (all [][]condition) {
	places := map[int]int{}
	for _, c := range r.conditions {
		if c.role != "needs" {
			continue
		}
		at, isKnown := places[c.alternative]
		if !isKnown {
			at = len(all)
			places[c.alternative] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], c)
	}
	return all
}

// canBeLookedFor says that all figures of at least one alternative are known.
func (r rule) canBeLookedFor(figures map[string]float64) bool {
	return slices.ContainsFunc(r.alternatives(), func(all []condition) bool {
		return !slices.ContainsFunc(all, func(c condition) bool { return !c.isKnown(figures) })
	})
}

// fired are the conditions of the first alternative that holds; nil if none does, or if what excludes the symptom holds.
func (r rule) fired(figures map[string]float64) []condition {
	for _, c := range r.conditions {
		if c.role == "unless" && c.holds(figures) {
			return nil
		}
	}
	for _, all := range r.alternatives() {
		if !slices.ContainsFunc(all, func(c condition) bool { return !c.holds(figures) }) {
			return all
		}
	}
	return nil
}

// confirmed says in words whether what confirms the symptom holds too, and what else would confirm it.
func (r rule) confirmed(figures map[string]float64) string {
	var agree, disagree, unknown []string
	for _, c := range r.conditions {
		switch {
		case c.role != "confirms":
		case !c.isKnown(figures):
			unknown = append(unknown, c.says)
		case c.holds(figures):
			agree = append(agree, c.told(figures))
		default:
			disagree = append(disagree, c.told(figures))
		}
	}
	switch {
	case len(disagree) > 0:
		return "not confirmed: " + strings.Join(disagree, "; ") + "; look at " + r.confirm
	case len(unknown) > 0:
		return "not measured: " + strings.Join(unknown, "; ") + "; look at " + r.confirm
	case len(agree) > 0:
		return "confirmed: " + strings.Join(agree, "; ")
	}
	return "look at " + r.confirm
}

// firing are the rules that fire on these figures, without those that another explains.
func firing(rules []rule, figures map[string]float64) (all []rule) {
	isFiring := map[string]bool{}
	for _, r := range rules {
		if r.fired(figures) != nil {
			isFiring[r.symptom] = true
		}
	}
	for _, r := range rules {
		if isFiring[r.symptom] && !slices.ContainsFunc(r.unless, func(other string) bool { return isFiring[other] }) {
			all = append(all, r)
		}
	}
	return all
}
