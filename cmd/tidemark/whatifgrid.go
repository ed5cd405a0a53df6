package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
)

// dimension is one thing that changes, with its values as they were written.
type dimension struct {
	gridChange
	values []string
}

// gridChange is a flag whose values make rows.
type gridChange struct {
	flag, usage string
	label       string // what a row says of a value, %s
	apply       func(*analysis.Scenario, string) error
}

var gridChanges = []gridChange{
	{"gpu", "`GPU`s as in seeds.gpus: H100,H200", "%s", textInto(func(s *analysis.Scenario) *string { return &s.GPU })},
	{"model", "`MODEL`s as in seeds.models, or paths of their config.json", "%s", textInto(func(s *analysis.Scenario) *string { return &s.Model })},
	{"tensor-parallel-size", "GPUs that share one replica: `1,2`", "tp %s", countInto(func(s *analysis.Scenario) *int { return &s.TensorParallelSize })},
	{"quantization", "`FORMAT`s of the weights as in seeds.formats", "%s", textInto(func(s *analysis.Scenario) *string { return &s.WeightFormat })},
	{"kv-cache-dtype", "`FORMAT`s of the KV cache", "kv %s", textInto(func(s *analysis.Scenario) *string { return &s.KVFormat })},
	{"max-num-seqs", "sequences in a batch at most: `64,256`", "seqs %s", countInto(func(s *analysis.Scenario) *int { return &s.MaxNumSeqs })},
	{"max-num-batched-tokens", "tokens in a step at most: `2048,8192`", "tokens %s", countInto(func(s *analysis.Scenario) *int { return &s.MaxNumBatchedTokens })},
	{"replicas", "servers that share the traffic evenly: `1,2,4`", "x %s", countInto(func(s *analysis.Scenario) *int { return &s.Replicas })},
	{"scale", "times the traffic's rate: `0.5,1,2`", "rate x%s", func(s *analysis.Scenario, value string) error {
		factor, err := strconv.ParseFloat(value, 64)
		if err != nil || !(factor > 0 && factor < 1e6) {
			return fmt.Errorf("must be above 0")
		}
		s.Scale = factor
		return nil
	}},
}

func textInto(field func(*analysis.Scenario) *string) func(*analysis.Scenario, string) error {
	return func(s *analysis.Scenario, value string) error {
		*field(s) = value
		return nil
	}
}

func countInto(field func(*analysis.Scenario) *int) func(*analysis.Scenario, string) error {
	return func(s *analysis.Scenario, value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 {
			return fmt.Errorf("must be a whole number, at least 1")
		}
		*field(s) = number
		return nil
	}
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
	for _, flag := range []string{"max-concurrency", "split-input-tokens"} {
		if err := positiveFlags(c, flag); err != nil {
			return nil, err
		}
	}
	if c.IsSet("max-concurrency") && c.IsSet("request-rate") {
		return nil, hint.Misuse("what-if: --max-concurrency and --request-rate exclude each other")
	}
	return grid, nil
}

// startFrom makes the first value of each flag the base: traffic that has run nowhere has no other.
func startFrom(c *cli.Context, base *analysis.Scenario, grid []dimension, t traffic) error {
	for _, d := range grid {
		if err := d.apply(base, d.values[0]); err != nil {
			return err
		}
	}
	if base.GPU != "" && base.Model != "" {
		return nil
	}
	if t.run != nil {
		return withoutEnvironment(t.name)
	}
	return need(c, "gpu", "model")
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
	a.Mix, b.Mix = analysis.Mix{}, analysis.Mix{}
	return reflect.DeepEqual(a, b)
}
