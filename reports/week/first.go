package week

import (
	"html/template"
	"strings"
)

// first is the dot of 10_first.html.
type first struct {
	Headline string
	RestsOn  prose // where the capacity comes from
	Lede     []prose
	Since    prose // what changed against last week
	Figure   *figure
	Tiles    []tile
	HasSigns bool
	Do       template.HTML
	Command  string // that does it
}

func firstView(f *facts) (first, string, error) {
	figure, err := drawn("need", f)
	v := first{Headline: f.headline(), RestsOn: f.restsOn(), Lede: f.lede(), Since: f.since(), Figure: figure, Tiles: f.tiles(), Command: f.Report.Do.Command}
	for _, t := range v.Tiles {
		v.HasSigns = v.HasSigns || t.Sign.Mark != ""
	}
	// Safe: HTML escapes every part, and what replaces the words is ours.
	v.Do = template.HTML(strings.Replace(string(f.doFirst().HTML()), "table of hours", `<a href="#hours">table of hours</a>`, 1))
	return v, "", err
}
