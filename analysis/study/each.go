//go:build duckdb_arrow

package study

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/wildcard"
)

// Expand puts, in place of each configuration that names settings with each, one for every combination of values that its measurements have of them, in
// the order of the measurements. What the baseline is already is left out.
func (f *File) Expand(ctx context.Context, db *sql.DB) error {
	ofBaseline, err := f.measured(ctx, db, f.baseline)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range f.Steps {
		var expanded []Configuration
		for _, c := range f.Steps[i].Configurations {
			all := []Configuration{c}
			if len(c.Each) > 0 {
				if all, err = f.combinations(ctx, db, c, ofBaseline); err != nil {
					return err
				}
			}
			for _, one := range all {
				if seen[one.Name] {
					return hint.Misuse("study: line %d: %q twice: give one of them a name of its own", c.line, one.Name)
				}
				seen[one.Name] = true
			}
			expanded = append(expanded, all...)
		}
		f.Steps[i].Configurations = expanded
	}
	return nil
}

// HasEach says that Expand has something to do.
func (f *File) HasEach() bool {
	return slices.ContainsFunc(f.Steps, func(s Step) bool {
		return slices.ContainsFunc(s.Configurations, func(c Configuration) bool { return len(c.Each) > 0 })
	})
}

// measured are the measurements of a configuration by source and place; nil where it is not of results.
func (f *File) measured(ctx context.Context, db *sql.DB, c Configuration) (points []point, err error) {
	if len(c.Results) == 0 {
		return nil, nil
	}
	sources, err := sourcesOf(ctx, db, c)
	if err != nil {
		return nil, err
	}
	return pointsOf(ctx, db, sources, c.Points)
}

// combinations are the configurations that one with each stands for.
func (f *File) combinations(ctx context.Context, db *sql.DB, c Configuration, ofBaseline []point) (all []Configuration, err error) {
	points, err := f.measured(ctx, db, c)
	if err != nil {
		return nil, err
	}
	differing := c.differingOf(points)
	if len(differing) == 0 {
		return nil, hint.Misuse("study: line %d: each: no setting of these measurements that is called so has two values: %s", c.line, strings.Join(c.Each, ", ")).
			Hint("their settings: tidemark sql \"select label, settings from staging.points\"")
	}
	seen := map[string]bool{}
	for _, p := range points {
		one, words := c, []string(nil)
		one.Each, one.Points = nil, maps.Clone(c.Points)
		if one.Points == nil {
			one.Points = map[string]any{}
		}
		for _, name := range differing {
			value := p.settings[name]
			one.Points[name] = value
			words = append(words, one.set(name[strings.LastIndex(name, ".")+1:], value))
		}
		one.Name = strings.Join(words, ", ")
		one.Settings = words
		isBaseline := slices.ContainsFunc(ofBaseline, func(b point) bool { return b.source == p.source && b.place == p.place })
		if !seen[one.Name] && !isBaseline {
			all = append(all, one)
		}
		seen[one.Name] = true
	}
	return all, nil
}

// differingOf are the settings that the patterns name and that differ among measurements, in the order of the alphabet.
func (c Configuration) differingOf(points []point) (names []string) {
	values := map[string]map[string]bool{}
	for _, p := range points {
		for name := range p.settings {
			if slices.ContainsFunc(c.Each, func(pattern string) bool { return wildcard.Match(pattern, name) }) && values[name] == nil {
				values[name] = map[string]bool{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, p := range points {
			values[name][fmt.Sprint(p.settings[name])] = true
		}
		if len(values[name]) > 1 {
			names = append(names, name)
		}
	}
	return names
}

// set changes a setting that the deployment has a field for, and is the setting in words. A value that the field cannot have changes nothing.
func (c *Configuration) set(name string, value any) (words string) {
	for _, of := range deployment.Fields {
		changed := c.Deployment
		if of.Name != name || value == nil || of.Set(&changed, fmt.Sprint(value)) != nil || changed.Normal().Check() != nil {
			continue
		}
		c.Deployment = changed.Normal()
		if of.Label != "" {
			return fmt.Sprintf(of.Label, fmt.Sprint(value))
		}
	}
	return fmt.Sprint(name, " ", value)
}
