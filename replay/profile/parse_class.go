package profile

import "go.yaml.in/yaml/v3"

func (c *Class) read(where string, node *yaml.Node) error {
	isShared := false
	err := fields{
		"name": text(&c.Name),
		"share": func(where string, node *yaml.Node) error {
			isShared = true
			return number(&c.Share, func(v float64) bool { return v > 0 && v <= 1 }, "above 0 and at most 1")(where, node)
		},
		"turns":         c.readTurns,
		"first":         c.readFirst,
		"input_tokens":  lengths(&c.Input, ofInput),
		"output_tokens": lengths(&c.Output, ofOutput),
		"think_s":       lengths(&c.Think, ofThink),
		"joint":         c.readJoint,
		"prefix":        c.Prefix.read,
		"alone":         c.readAlone,
	}.read(where, node)
	switch {
	case err != nil:
		return err
	case c.Name == "":
		return wrongAt(node, "%s: name is missing", where)
	case !isShared:
		return wrongAt(node, "%s: share is missing: the share of sessions that are of this class", where)
	}
	return c.check(where, node)
}

// check wants every turn to have an input and an output, and said once.
func (c *Class) check(where string, node *yaml.Node) error {
	if c.Joint != nil && (c.Input != nil || c.Output != nil) {
		return wrongAt(node, "%s: joint says input and output; leave out input_tokens and output_tokens", where)
	}
	if c.First != nil && len(c.Listed) > 0 {
		return wrongAt(node, "%s: first is of turns that are not listed", where)
	}
	for _, t := range c.turns() {
		if c.Joint == nil && (t.Input == nil && c.Input == nil || t.Output == nil && c.Output == nil) {
			return wrongAt(node, "%s: input_tokens and output_tokens, or joint, are missing", where)
		}
		if c.Joint != nil && (t.Input != nil || t.Output != nil) {
			return wrongAt(node, "%s: joint says input and output; leave them out of the turns", where)
		}
	}
	return nil
}

// turns are those that are described; the last one stands for all after it.
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

func (c *Class) readFirst(where string, node *yaml.Node) error {
	c.First = &Turn{}
	return fields{
		"input_tokens":  lengths(&c.First.Input, ofInput),
		"output_tokens": lengths(&c.First.Output, ofOutput),
	}.read(where, node)
}

// readTurns takes a number of turns, how it is distributed, or the turns themselves.
func (c *Class) readTurns(where string, node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return lengths(&c.Turns, ofTurns)(where, node)
	}
	return each(func(where string, node *yaml.Node) error {
		var t Turn
		err := fields{
			"input_tokens":  lengths(&t.Input, ofInput),
			"output_tokens": lengths(&t.Output, ofOutput),
			"think_s":       lengths(&t.Think, ofThink),
		}.read(where, node)
		c.Listed = append(c.Listed, t)
		return err
	})(where, node)
}

func (c *Class) readAlone(where string, node *yaml.Node) error {
	c.Alone = &Alone{}
	return fields{
		"arrivals":        c.Alone.Arrivals.read,
		"sessions":        count(&c.Alone.Sessions),
		"max_concurrency": count(&c.Alone.MaxConcurrency),
	}.read(where, node)
}

func (p *Prefix) read(where string, node *yaml.Node) error {
	history := "none"
	err := fields{
		"shared": func(where string, node *yaml.Node) error {
			p.Shared = &Shared{}
			return p.Shared.read(where, node)
		},
		"history": oneOf(&history, "none", "growing"),
	}.read(where, node)
	p.IsGrowing = history == "growing"
	return err
}

func (s *Shared) read(where string, node *yaml.Node) error {
	popularity := "uniform"
	err := fields{
		"name":          text(&s.Name),
		"count":         count(&s.Count),
		"tokens":        lengths(&s.Tokens, ofShared),
		"ratio":         number(&s.Ratio, func(v float64) bool { return v > 0 && v < 1 }, "above 0 and below 1"),
		"follows_input": flag(&s.FollowsInput),
		"popularity":    oneOf(&popularity, "uniform", "zipf"),
	}.read(where, node)
	s.IsZipf = popularity == "zipf"
	switch {
	case err != nil:
		return err
	case s.Count == 0:
		return wrongAt(node, "%s: count is missing: how many different starters there are", where)
	case s.Count > maxStarters:
		return wrongAt(node, "%s: count %d: must be at most %d", where, s.Count, maxStarters)
	case (s.Tokens == nil) == (s.Ratio == 0):
		return wrongAt(node, "%s: one of tokens and ratio must be there", where)
	case s.FollowsInput && s.Tokens == nil:
		return wrongAt(node, "%s: follows_input needs tokens", where)
	}
	return nil
}

func (c *Class) readJoint(where string, node *yaml.Node) error {
	j := &Joint{line: node.Line}
	c.Joint = j
	err := fields{
		"source":  text(&j.Source),
		"hourly":  flag(&j.IsHourly),
		"cells":   cells(&j.Cells),
		"windows": each(j.addWindow),
	}.read(where, node)
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
		return wrongAt(node, "%s: one of source, cells and windows must be there", where)
	}
	if j.IsHourly && j.Source == "" {
		return wrongAt(node, "%s: hourly is of a source", where)
	}
	return nil
}

func (j *Joint) addWindow(where string, node *yaml.Node) error {
	var w CellWindow
	err := fields{"from": timeOfDay(&w.From), "until": timeOfDay(&w.Until), "cells": cells(&w.Cells)}.read(where, node)
	switch {
	case err != nil:
		return err
	case len(w.Cells) == 0:
		return wrongAt(node, "%s: cells are missing", where)
	case w.Until <= w.From:
		return wrongAt(node, "%s: until must be after from", where)
	case len(j.Windows) > 0 && w.From < j.Windows[len(j.Windows)-1].Until:
		return wrongAt(node, "%s: begins before the window ahead of it ends", where)
	}
	j.Windows = append(j.Windows, w)
	return nil
}

func cells(into *[]Cell) func(string, *yaml.Node) error {
	return each(func(where string, node *yaml.Node) error {
		c := Cell{}
		err := fields{
			"input":  between(&c.Input),
			"output": between(&c.Output),
			"count":  number(&c.Count, func(v float64) bool { return v > 0 && v <= 1e15 }, "above 0"),
		}.read(where, node)
		if err == nil && (c.Input[0] == 0 || c.Output[0] == 0 || c.Count == 0) {
			err = wrongAt(node, "%s: needs input, output and count", where)
		}
		*into = append(*into, c)
		return err
	})
}

// between takes a length, or a list of two: the least and the most.
func between(into *[2]int) func(string, *yaml.Node) error {
	return func(where string, node *yaml.Node) error {
		if node.Kind != yaml.SequenceNode {
			err := count(&into[0])(where, node)
			into[1] = into[0]
			return err
		}
		if len(node.Content) != 2 {
			return wrongAt(node, "%s: must be a length or [least, most]", where)
		}
		for i := range into {
			if err := count(&into[i])(where, followed(node.Content[i])); err != nil {
				return err
			}
		}
		if into[1] < into[0] {
			return wrongAt(node, "%s: the most is below the least", where)
		}
		return nil
	}
}
