package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

// An SLO file is read strictly: an unknown key, a missing unit or a percentile written as a share would otherwise judge another SLO than
// the one that was meant. Errors name the line. There is no objective about a mean or a maximum: a mean hides the slow requests, and a maximum
// grows with the length of the run. Two bounds on the same number are refused, because one of them must be a mistake.

// The first line of an SLO file. In the first schema ttft and e2e were judged from when a request was due, as ttft_from_due and
// e2e_from_due are now; in the second each word means what it says.
const (
	firstSLOSchema = "tidemark.slo/1"
	sloSchema      = "tidemark.slo/2"
)

// SLO is the service level objectives of a run. run.json holds its JSON form.
type SLO struct {
	Schema     string      `json:"schema"` // always the second: a file of the first is translated
	Name       string      `json:"name"`
	Objectives []Objective `json:"objectives"`
	Cost       *SLOCost    `json:"cost,omitempty"`
}

// Objective is one bound on one number of a run.
type Objective struct {
	Metric     string  `json:"metric"`
	Percentile float64 `json:"percentile,omitempty"` // 99 for p99; none for failure_ratio
	AtMost     float64 `json:"at_most"`              // seconds; a share for failure_ratio
	Class      string  `json:"class,omitempty"`      // of requests; empty: all
}

// Searched are the objectives as a search for capacity takes them.
func (s SLO) Searched() (objectives []capacity.Objective) {
	for _, o := range s.Objectives {
		objectives = append(objectives, capacity.Objective{Metric: o.Metric, Quantile: o.Percentile / 100, AtMost: o.AtMost, Class: o.Class})
	}
	return objectives
}

// SearchedLatencies are those that a rehearsal can judge: it knows no failures.
func (s SLO) SearchedLatencies() []capacity.Objective {
	return slices.DeleteFunc(s.Searched(), func(o capacity.Objective) bool { return o.Metric == metric.FailureRatio })
}

// SLOCost is what the hardware costs, for the price of a million accepted tokens.
type SLOCost struct {
	PerGPUHour float64 `json:"per_gpu_hour"` // in any currency
}

// ReadSLO reads an SLO from a YAML file. An unknown key, or a value that makes no sense, is an error that names the line.
func ReadSLO(path string) (SLO, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return SLO{}, hint.Errorf("slo %s: %w", path, errors.Unwrap(err)).Hint("name the file of an SLO: its objectives are written as {metric: ttft_from_due, percentile: 99, at_most: 1s}; the README has one")
	}
	slo, err := parseSLO(text)
	if err != nil {
		return SLO{}, hint.Misuse("slo %s: %w", path, err).Hint("%s", cmp.Or(hint.Of(err), sloExample))
	}
	return slo, nil
}

const (
	objectiveExample = `an objective is written {metric: ttft_from_due, percentile: 99, at_most: 1s} or {metric: failure_ratio, at_most: 0.01}`
	sloExample       = objectiveExample + `, under "schema: ` + sloSchema + `"`
)

// parseSLO reads the text as nodes, which know their lines, so that every error names one. Objectives are compared with each other only after
// the metrics of the first schema are translated, because there two words can mean the same number.
func parseSLO(text []byte) (SLO, error) {
	slo := SLO{Schema: sloSchema}
	root, err := yamlfile.Parse(text)
	if err != nil {
		return slo, err
	}
	var schema string
	var lines []*yamlfile.Node // of the objectives
	err = yamlfile.Fields{
		"schema":     yamlfile.OneOf(&schema, sloSchema, firstSLOSchema),
		"name":       yamlfile.Text(&slo.Name),
		"objectives": slo.readObjectives(&lines),
		"cost":       slo.readCost,
	}.ReadWith("", root, "schema", "name", "objectives")
	if err != nil {
		return slo, err
	}
	for i := range slo.Objectives {
		if objective := &slo.Objectives[i]; schema == firstSLOSchema {
			objective.Metric = fromDue(objective.Metric)
		}
	}
	return slo, slo.onceEach(lines)
}

// Field reads objectives in the words of the second schema, for files that hold them in place of the name of an SLO file.
func (s *SLO) Field() yamlfile.Field {
	s.Schema = sloSchema
	return func(where string, node *yamlfile.Node) error {
		var lines []*yamlfile.Node
		if err := s.readObjectives(&lines)(where, node); err != nil {
			return hint.Wrap(err).Hint("%s", cmp.Or(hint.Of(err), objectiveExample))
		}
		return s.onceEach(lines)
	}
}

// readObjectives reads the list, and notes where each stands.
func (s *SLO) readObjectives(lines *[]*yamlfile.Node) yamlfile.Field {
	return yamlfile.Each(func(where string, node *yamlfile.Node) error {
		*lines = append(*lines, node)
		return s.addObjective(where, node)
	})
}

// onceEach refuses two bounds on one number.
func (s *SLO) onceEach(lines []*yamlfile.Node) error {
	for i, objective := range s.Objectives {
		if earlier := slices.IndexFunc(s.Objectives[:i], objective.bindsAs); earlier >= 0 {
			return yamlfile.Errorf(lines[i], "objectives[%d]: %s is bound twice, by objectives[%d] already", i, objective, earlier)
		}
	}
	return nil
}

// readCost reads the price of the hardware.
func (s *SLO) readCost(where string, node *yamlfile.Node) error {
	s.Cost = &SLOCost{}
	return yamlfile.Fields{"per_gpu_hour": yamlfile.Price(&s.Cost.PerGPUHour)}.ReadWith(where, node, "per_gpu_hour")
}

// addObjective reads one objective. Its error names the line.
func (s *SLO) addObjective(where string, node *yamlfile.Node) error {
	var o Objective
	percentile, atMost := math.NaN(), ""
	isAny := func(float64) bool { return true } // bound judges it, with a hint
	err := yamlfile.Fields{
		"metric":     yamlfile.OneOf(&o.Metric, metric.All...),
		"percentile": yamlfile.Number(&percentile, isAny, ""),
		"at_most":    yamlfile.Text(&atMost),
		"class":      yamlfile.Text(&o.Class),
	}.ReadWith(where, node, "metric")
	if err != nil {
		return err
	}
	if err := o.bound(percentile, atMost); err != nil {
		return yamlfile.Errorf(node, "%s: %w", where, err)
	}
	s.Objectives = append(s.Objectives, o)
	return nil
}

// bound sets the percentile (NaN: none is given) and the bound, which is a share or a time depending on the metric. A percentile between 0 and 1
// is refused and not multiplied by 100, because 0.99 could be meant either way.
func (o *Objective) bound(percentile float64, atMost string) error {
	isShare, isGiven := o.Metric == metric.FailureRatio, !math.IsNaN(percentile)
	switch {
	case isShare && isGiven:
		return errors.New("a failure_ratio has no percentile")
	case !isShare && !isGiven:
		return fmt.Errorf("%s: no percentile: an objective is not about a mean or a maximum", o.Metric)
	case percentile > 0 && percentile < 1:
		share := strconv.FormatFloat(math.Round(percentile*1e8)/1e6, 'f', -1, 64)
		return hint.Errorf("percentile %v: a percentile is not written as a share", percentile).Hint("write %s for p%[1]s", share)
	case isGiven && !(percentile > 0 && percentile < 100):
		return fmt.Errorf("percentile %v: want a number between 0 and 100, such as 99", percentile)
	case atMost == "":
		return fmt.Errorf("%s: no at_most: an objective needs a bound", o.Metric)
	}
	if isShare {
		share, err := strconv.ParseFloat(atMost, 64)
		if err != nil || !(share >= 0 && share < 1) {
			return fmt.Errorf("at_most %q: want a share from 0 up to 1, such as 0.01", atMost)
		}
		o.AtMost = share
		return nil
	}
	length, err := time.ParseDuration(strings.ReplaceAll(atMost, " ", ""))
	if err != nil || length <= 0 {
		return fmt.Errorf("at_most %q: want a time with its unit, such as 350ms or 1s", atMost)
	}
	o.Percentile, o.AtMost = percentile, length.Seconds()
	return nil
}

// fromDue is the metric that a word of the first schema means. Files and runs of that schema exist, so the translation stays.
func fromDue(name string) string {
	if name == metric.TTFT || name == metric.E2E {
		return name + "_from_due"
	}
	return name
}

// bindsAs says that two objectives are about the same number, whatever their bounds.
func (o Objective) bindsAs(other Objective) bool {
	return o.Metric == other.Metric && o.Percentile == other.Percentile && o.Class == other.Class
}

// String names the objective as people do: p99 TTFT from due of class P0.
func (o Objective) String() string {
	text := "share of failures"
	if o.Metric != metric.FailureRatio {
		text = show.Percentile(o.Percentile) + " " + show.Words(o.Metric)
	}
	if o.Class != "" {
		text += " of class " + o.Class
	}
	return text
}
