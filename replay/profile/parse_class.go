package profile

import (
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/yamlfile"
)

func (c *Class) read(where string, node *yamlfile.Node) error {
	isShared := false
	err := yamlfile.Fields{
		"name": yamlfile.Text(&c.Name),
		"share": func(where string, node *yamlfile.Node) error {
			isShared = true
			return yamlfile.Number(&c.Share, func(v float64) bool { return v > 0 && v <= 1 }, "above 0 and at most 1")(where, node)
		},
		"turns":         c.readTurns,
		"first":         c.readFirst,
		"input_tokens":  lengths(&c.Input, ofInput),
		"output_tokens": lengths(&c.Output, ofOutput),
		"think_s":       lengths(&c.Think, ofThink),
		"joint":         c.readJoint,
		"prefix":        c.Prefix.read,
		"alone":         c.readAlone,
	}.Read(where, node)
	switch {
	case err != nil:
		return err
	case c.Name == "":
		return yamlfile.Errorf(node, "%s: name is missing", where)
	case !isShared:
		return yamlfile.Errorf(node, "%s: share is missing: the share of sessions that are of this class", where)
	}
	return c.check(where, node)
}

// check requires an input and an output for every turn, each said in one place
// only.
func (c *Class) check(where string, node *yamlfile.Node) error {
	if c.Joint != nil && (c.Input != nil || c.Output != nil) {
		return yamlfile.Errorf(node, "%s: joint says input and output; leave out input_tokens and output_tokens", where)
	}
	if c.First != nil && len(c.Listed) > 0 {
		return yamlfile.Errorf(node, "%s: first is of turns that are not listed", where)
	}
	for _, t := range c.turns() {
		if c.Joint == nil && (t.Input == nil && c.Input == nil || t.Output == nil && c.Output == nil) {
			return yamlfile.Errorf(node, "%s: input_tokens and output_tokens, or joint, are missing", where)
		}
		if c.Joint != nil && (t.Input != nil || t.Output != nil) {
			return yamlfile.Errorf(node, "%s: joint says input and output; leave them out of the turns", where)
		}
	}
	return nil
}

// turns are the turns that are described. The last stands for all after it.
func (c *Class) turns() []Turn {
	switch {
	case len(c.Listed) > 0:
		return c.Listed
	case c.First != nil:
		return []Turn{*c.First, {}}
	default:
		return []Turn{{}}
	}
}

func (c *Class) readFirst(where string, node *yamlfile.Node) error {
	c.First = &Turn{}
	return yamlfile.Fields{
		"input_tokens":  lengths(&c.First.Input, ofInput),
		"output_tokens": lengths(&c.First.Output, ofOutput),
	}.Read(where, node)
}

// readTurns reads a number of turns, its distribution, or a list of the turns
// themselves.
func (c *Class) readTurns(where string, node *yamlfile.Node) error {
	if node.Kind != yaml.SequenceNode {
		return lengths(&c.Turns, ofTurns)(where, node)
	}
	return yamlfile.Each(func(where string, node *yamlfile.Node) error {
		var t Turn
		err := yamlfile.Fields{
			"input_tokens":  lengths(&t.Input, ofInput),
			"output_tokens": lengths(&t.Output, ofOutput),
			"think_s":       lengths(&t.Think, ofThink),
		}.Read(where, node)
		c.Listed = append(c.Listed, t)
		return err
	})(where, node)
}

func (c *Class) readAlone(where string, node *yamlfile.Node) error {
	c.Alone = &Alone{}
	return yamlfile.Fields{
		"arrivals":        c.Alone.Arrivals.read,
		"sessions":        yamlfile.Whole(&c.Alone.Sessions, 1, maxTokens),
		"max_concurrency": yamlfile.Whole(&c.Alone.MaxConcurrency, 1, maxTokens),
	}.Read(where, node)
}

func (p *Prefix) read(where string, node *yamlfile.Node) error {
	history := "none"
	err := yamlfile.Fields{
		"shared": func(where string, node *yamlfile.Node) error {
			p.Shared = &Shared{}
			return p.Shared.read(where, node)
		},
		"history": yamlfile.OneOf(&history, "none", "growing"),
	}.Read(where, node)
	p.IsGrowing = history == "growing"
	return err
}

// read reads shared prefixes, by length or by ratio.
func (s *Shared) read(where string, node *yamlfile.Node) error {
	popularity := "uniform"
	err := yamlfile.Fields{
		"name":          yamlfile.Text(&s.Name),
		"count":         yamlfile.Whole(&s.Count, 1, maxTokens),
		"tokens":        lengths(&s.Tokens, ofShared),
		"ratio":         yamlfile.Number(&s.Ratio, func(v float64) bool { return v > 0 && v < 1 }, "above 0 and below 1"),
		"follows_input": yamlfile.Flag(&s.FollowsInput),
		"popularity":    yamlfile.OneOf(&popularity, "uniform", "zipf"),
	}.Read(where, node)
	s.IsZipf = popularity == "zipf"
	switch {
	case err != nil:
		return err
	case s.Count == 0:
		return yamlfile.Errorf(node, "%s: count is missing: the number of different shared prefixes", where)
	case s.Count > maxPrefixes:
		return yamlfile.Errorf(node, "%s: count %d: must be at most %d", where, s.Count, maxPrefixes)
	case (s.Tokens == nil) == (s.Ratio == 0):
		return yamlfile.Errorf(node, "%s: one of tokens and ratio must be there", where)
	case s.FollowsInput && s.Tokens == nil:
		return yamlfile.Errorf(node, "%s: follows_input needs tokens", where)
	}
	return nil
}

// readJoint reads exactly one of source, cells and windows.
func (c *Class) readJoint(where string, node *yamlfile.Node) error {
	j := &Joint{}
	c.Joint = j
	err := yamlfile.Fields{
		"source":  yamlfile.Text(&j.Source),
		"hourly":  yamlfile.Flag(&j.IsHourly),
		"cells":   cells(&j.Cells),
		"windows": yamlfile.Each(j.addWindow),
	}.Read(where, node)
	if err != nil {
		return err
	}
	given := 0
	for _, isGiven := range []bool{j.Source != "", len(j.Cells) > 0, len(j.Windows) > 0} {
		if isGiven {
			given++
		}
	}
	if given != 1 {
		return yamlfile.Errorf(node, "%s: one of source, cells and windows must be there", where)
	}
	if j.IsHourly && j.Source == "" {
		return yamlfile.Errorf(node, "%s: hourly is of a source", where)
	}
	return nil
}

func (j *Joint) addWindow(where string, node *yamlfile.Node) error {
	var w CellWindow
	err := yamlfile.Fields{"from": timeOfDay(&w.From), "until": timeOfDay(&w.Until), "cells": cells(&w.Cells)}.Read(where, node)
	switch {
	case err != nil:
		return err
	case len(w.Cells) == 0:
		return yamlfile.Errorf(node, "%s: cells are missing", where)
	}
	endBefore := time.Duration(0)
	if n := len(j.Windows); n > 0 {
		endBefore = j.Windows[n-1].Until
	}
	j.Windows = append(j.Windows, w)
	return checkWindow(where, node, w.From, w.Until, endBefore)
}

// cells reads the cells of a joint distribution.
func cells(into *[]Cell) func(string, *yamlfile.Node) error {
	return yamlfile.Each(func(where string, node *yamlfile.Node) error {
		c := Cell{}
		err := yamlfile.Fields{
			"input":  between(&c.Input),
			"output": between(&c.Output),
			"count":  yamlfile.Number(&c.Count, func(v float64) bool { return v > 0 && v <= 1e15 }, "above 0"),
		}.Read(where, node)
		if err == nil && (c.Input[0] == 0 || c.Output[0] == 0 || c.Count == 0) {
			err = yamlfile.Errorf(node, "%s: needs input, output and count", where)
		}
		*into = append(*into, c)
		return err
	})
}

// between reads a length, or a list of two: the least and the most.
func between(into *[2]int) func(string, *yamlfile.Node) error {
	return func(where string, node *yamlfile.Node) error {
		if node.Kind != yaml.SequenceNode {
			err := yamlfile.Whole(&into[0], 1, maxTokens)(where, node)
			into[1] = into[0]
			return err
		}
		if len(node.Content) != 2 {
			return yamlfile.Errorf(node, "%s: must be a length or [least, most]", where)
		}
		for i := range into {
			if err := yamlfile.Whole(&into[i], 1, maxTokens)(where, yamlfile.Resolved(node.Content[i])); err != nil {
				return err
			}
		}
		if into[1] < into[0] {
			return yamlfile.Errorf(node, "%s: the most is below the least", where)
		}
		return nil
	}
}
