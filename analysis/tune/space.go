package tune

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// mostCandidates bounds a space whose author has not counted.
const mostCandidates = 100_000

// Candidate is one configuration.
type Candidate struct {
	Values     []string // of each knob; empty: the engine's default
	IsBaseline bool     // the file's own deployment
	Deployment deployment.Deployment
	IsCached   bool // its prefix cache is on, as by default
	knobs      []Knob
}

// Candidates are the baseline and every combination of values, the last knob varying fastest.
func (f File) Candidates() ([]Candidate, error) {
	n := 1
	for _, k := range f.Knobs {
		if n *= len(k.Values); n > mostCandidates {
			return nil, hint.Misuse("tune: line %d: space: more than %d combinations", f.spaceLine, mostCandidates).Hint("fewer values of a setting, or a setting less")
		}
	}
	base := Candidate{IsBaseline: true, Deployment: f.Base, IsCached: true, knobs: f.Knobs, Values: make([]string, len(f.Knobs))}
	for i, k := range f.Knobs {
		if k.field != nil {
			if v := k.field.Get(f.Base); v != nil {
				base.Values[i] = fmt.Sprint(v)
			}
		}
	}
	all := []Candidate{base}
	for i := range n {
		c := Candidate{Deployment: f.Base, IsCached: true, knobs: f.Knobs, Values: make([]string, len(f.Knobs))}
		rest := i
		for k := len(f.Knobs) - 1; k >= 0; k-- {
			knob := f.Knobs[k]
			c.Values[k] = knob.Values[rest%len(knob.Values)]
			rest /= len(knob.Values)
			switch {
			case knob.Name == caching:
				c.IsCached = c.Values[k] == "true"
			case knob.field != nil:
				if err := knob.field.Set(&c.Deployment, c.Values[k]); err != nil {
					return nil, err
				}
			}
		}
		c.Deployment = c.Deployment.Normal()
		all = append(all, c)
	}
	return all, nil
}

// Flags are what to start the server with, as vLLM spells them, then name=value of each live knob.
func (c Candidate) Flags() []string {
	flags := c.StartFlags()
	for i, k := range c.knobs {
		if v := c.Values[i]; v != "" && k.Set != nil {
			flags = append(flags, k.Name+"="+v)
		}
	}
	return flags
}

// Live are the commands that set the live knobs. areAll says that every one of them is set, so that it does not matter who ran before.
func (c Candidate) Live() (commands [][]string, areAll bool) {
	areAll = true
	for i, k := range c.knobs {
		switch v := c.Values[i]; {
		case k.Set == nil:
		case v == "":
			areAll = false
		default:
			commands = append(commands, k.Setting(v))
		}
	}
	return commands, areAll
}

// StartFlags are the flags that a start needs.
func (c Candidate) StartFlags() (flags []string) {
	for i, k := range c.knobs {
		switch v := c.Values[i]; {
		case v == "" || k.Set != nil:
		case v == "true":
			flags = append(flags, k.Flag)
		case v == "false":
			flags = append(flags, "--no-"+strings.TrimPrefix(k.Flag, "--"))
		default:
			flags = append(flags, k.Flag, v)
		}
	}
	return flags
}

// Label names the candidate in few words, as a row of what-if is named.
func (c Candidate) Label() string {
	var words []string
	for i, k := range c.knobs {
		switch v := c.Values[i]; {
		case v == "":
		case k.Name == caching:
			words = append(words, map[string]string{"true": "cache", "false": "no cache"}[v])
		case k.field != nil:
			words = append(words, fmt.Sprintf(k.field.Label, v))
		default:
			words = append(words, k.Name+" "+v)
		}
	}
	if len(words) == 0 {
		return "defaults"
	}
	return strings.Join(words, ", ")
}

// Settings are the knobs by name; one at the engine's default is left out.
func (c Candidate) Settings() map[string]string {
	settings := map[string]string{}
	for i, k := range c.knobs {
		if c.Values[i] != "" {
			settings[k.Name] = c.Values[i]
		}
	}
	return settings
}

// number is a setting by name, with the defaults of the resolved deployment.
func (c Candidate) number(name string) (float64, bool) {
	text := c.Settings()[name]
	if text == "" {
		for _, of := range deployment.Fields {
			if of.Name == name {
				text = fmt.Sprint(of.Get(c.Deployment))
			}
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// breaks is the constraint that excludes the candidate; empty: none.
func (c Candidate) breaks(constraints []Constraint) string {
	for _, one := range constraints {
		if !one.holds(c.number) {
			return one.Text
		}
	}
	return ""
}
