package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/workload"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/warehouse"
	"tidemark/replay/profile"
)

// diffProfiles says how far apart two workloads are, and ends with 1 when they
// are further than the threshold.
func diffProfiles(c *cli.Context, a, b string) error {
	threshold := c.Float64("threshold")
	if !(threshold > 0) {
		return hint.Misuse("profile diff: --threshold must be above 0")
	}
	var sides [2]profile.Lengths
	gather := func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		for i, name := range []string{a, b} {
			if sides[i], err = namedLengths(ctx, c, w, name); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if _, missing := os.Stat(c.String("warehouse")); errors.Is(missing, fs.ErrNotExist) {
		err = gather(c.Context, nil)
	} else {
		err = withWarehouse(c.Context, c, warehouse.ReadOnly, gather)
	}
	if err != nil {
		return err
	}
	input, output := profile.Distances(sides[0], sides[1])
	table := analysis.Table{Columns: columnsOf("tokens", "ks_ratio", "wasserstein_ln", "within")}
	isWithin := true
	for _, one := range []struct {
		tokens string
		apart  profile.Distance
	}{{"input", input}, {"output", output}} {
		within := one.apart.KS <= threshold && one.apart.Wasserstein <= threshold
		isWithin = isWithin && within
		table.Rows = append(table.Rows, []any{one.tokens, one.apart.KS, one.apart.Wasserstein, within})
	}
	if err := printTable(c, table); err != nil {
		return err
	}
	if !isWithin {
		return exitError{exitNotMet, fmt.Errorf("profile diff: %s is not the workload of %s: further apart than %s", a, b, show.Figures(threshold))}
	}
	return nil
}

// namedLengths is the lengths of a profile, of a trace, or of what a run sent.
func namedLengths(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, name string) (profile.Lengths, error) {
	lengths := func(source string) (profile.Lengths, error) { return lengthsOf(ctx, w, source) }
	if w == nil {
		lengths = nil
	}
	p, _, err := loadedProfile(name)
	if err == nil {
		if class := c.String("class"); class != "" {
			if p, err = p.Only(class); err != nil {
				return profile.Lengths{}, hint.AsMisuse(err)
			}
		}
		shape := *p
		shape.Sessions = 0
		return shape.Drawn(profile.Options{Seed: c.Uint64("seed"), Duration: 100 * 365 * 24 * time.Hour, Limit: c.Int64("draw"), Lengths: lengths})
	}
	if isProfileFile(name) || w == nil {
		return profile.Lengths{}, err
	}
	if l, isRun, err := workload.LengthsOfRun(ctx, w.DB(), name); isRun || err != nil {
		return l, err
	}
	return lengthsOf(ctx, w, name)
}
