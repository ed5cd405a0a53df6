package main

// The grid of what-if: every flag of a deployment takes several values, separated by
// commas, and all combinations become rows. The flags come from the one list of fields
// in internal/deployment, plus the replicas and the scale of the rate.

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// dimension is one thing that changes, with its values as they were written.
type dimension struct {
	gridChange
	values []string
}

// gridChange is a flag whose values make rows.
type gridChange struct {
	flag  string
	usage string
	label string // what a row says of a value, %s
	apply func(*analysis.Scenario, string) error
}

// gridChanges are the fields of a deployment, and what only what-if knows. --max-model-len is not among them: it has one value,
// because it also chooses the requests.
var gridChanges = append(deploymentChanges(),
	gridChange{"replicas", "`N,N` servers that share the traffic evenly: 1,2,4", "x %s", func(s *analysis.Scenario, value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 {
			return fmt.Errorf("must be a whole number, at least 1")
		}
		s.Replicas = number
		return nil
	}},
	gridChange{"scale", "`N,N` times the traffic's rate: 0.5,1,2", "rate x%s", func(s *analysis.Scenario, value string) error {
		factor, err := strconv.ParseFloat(value, 64)
		if err != nil || !(factor > 0 && factor < 1e6) {
			return fmt.Errorf("must be above 0")
		}
		s.Scale = factor
		return nil
	}},
)

// deploymentChanges leaves --max-model-len out; see gridChanges.
func deploymentChanges() (changes []gridChange) {
	for _, f := range deployment.Fields {
		if f.Name == "max_model_len" {
			continue
		}
		flag := f.Flag
		if f.Name == "catalog_model" {
			flag = "model"
		}
		changes = append(changes, gridChange{flag, f.Usage, f.Label, func(s *analysis.Scenario, value string) error {
			if err := f.Set(&s.Deployment, value); err != nil {
				return err
			}
			s.Deployment = s.Deployment.Normal()
			if engine := s.Engine; engine != "" && !slices.Contains(deployment.Engines, engine) {
				return fmt.Errorf("known engines are %s", strings.Join(deployment.Engines, ", "))
			}
			return nil
		}})
	}
	return changes
}

func gridFlags() (flags []cli.Flag) {
	for _, change := range gridChanges {
		flags = append(flags, &cli.StringFlag{Name: change.flag, Usage: change.usage})
	}
	return flags
}

// valuesOf are what a flag lists.
func valuesOf(c *cli.Context, flag string) (values []string) {
	for word := range strings.SplitSeq(c.String(flag), ",") {
		if word = strings.TrimSpace(word); word != "" {
			values = append(values, word)
		}
	}
	return values
}

// gridOf are the flags that were given, each of whose values must make sense.
func gridOf(c *cli.Context) (grid []dimension, err error) {
	for _, change := range gridChanges {
		if !c.IsSet(change.flag) {
			continue
		}
		values := valuesOf(c, change.flag)
		if len(values) == 0 {
			return nil, hint.Misuse("what-if: --%s: no value", change.flag)
		}
		for _, value := range values {
			if err := change.apply(&analysis.Scenario{}, value); err != nil {
				return nil, hint.Misuse("what-if: --%s %s: %w", change.flag, value, err)
			}
		}
		grid = append(grid, dimension{change, values})
	}
	if err := positiveFlags(c, "max-concurrency", "split-input-tokens"); err != nil {
		return nil, err
	}
	return grid, exclusive(c, "max-concurrency", "request-rate")
}

// startFrom makes the first value of each flag the base: traffic that has run nowhere has no other.
func startFrom(c *cli.Context, base *analysis.Scenario, grid []dimension, t traffic) error {
	for _, d := range grid {
		if err := d.apply(base, d.values[0]); err != nil {
			return err
		}
	}
	if base.GPU != "" && base.CatalogModel != "" {
		return nil
	}
	if t.run != nil {
		return withoutEnvironment(t.name)
	}
	return requireFlags(c, "gpu", "model")
}

// rowsOfGrid are all values with each other, after the base; each says in what it differs. ranThere: the base is how
// it ran.
func rowsOfGrid(base analysis.Scenario, grid []dimension, ranThere bool) []whatIfRow {
	rows := []whatIfRow{{Scenario: base}}
	for _, d := range grid {
		var more []whatIfRow
		for _, row := range rows {
			for _, value := range d.values {
				next := row
				if d.apply(&next.Scenario, value); !isSame(next.Scenario, row.Scenario) {
					next.change = strings.TrimPrefix(row.change+", "+fmt.Sprintf(d.label, value), ", ")
				}
				more = append(more, next)
			}
		}
		rows = more
	}
	all := []whatIfRow{{Scenario: base, change: "base"}}
	if ranThere {
		all[0].change = "as it ran"
	}
	for _, row := range rows {
		if row.change != "" {
			all = append(all, row)
		}
	}
	return all
}

// isSame says whether two scenarios differ in nothing but their traffic.
func isSame(a, b analysis.Scenario) bool {
	a.Mix, b.Mix = queueing.Mix{}, queueing.Mix{}
	return reflect.DeepEqual(a, b)
}
