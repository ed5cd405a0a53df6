package analysis

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"

	"go.yaml.in/yaml/v3"
)

// The first line of an SLO file. In the first schema ttft and e2e are judged from when a request was due, as ttft_from_due and
// e2e_from_due are; in the second each word means what it says.
const (
	firstSLOSchema = "tidemark.slo/1"
	sloSchema      = "tidemark.slo/2"
)

// failureRatio is the one metric that is a share of requests and no time.
const failureRatio = "failure_ratio"

var sloMetrics = []string{"ttft", "ttft_from_due", "tpot", "e2e", "e2e_from_due", "itl", failureRatio}

// SLO is what a run is to keep to. Its JSON form is what run.json holds.
type SLO struct {
	Schema     string      `json:"schema"` // of its words: the second, whichever the file is of
	Name       string      `json:"name"`
	Objectives []Objective `json:"objectives"`
	Cost       *SLOCost    `json:"cost,omitempty"`
}

// Objective is one bound.
type Objective struct {
	Metric     string  `json:"metric"`
	Percentile float64 `json:"percentile,omitempty"` // 99 for p99; none for failure_ratio
	AtMost     float64 `json:"at_most"`              // seconds; a share for failure_ratio
	Class      string  `json:"class,omitempty"`      // of requests; empty: all
}

// SLOCost is what the hardware costs.
type SLOCost struct {
	PerGPUHour float64 `json:"per_gpu_hour"` // in whatever currency
}

// sloFile is the file as it is written.
type sloFile struct {
	Schema     string `yaml:"schema"`
	Name       string `yaml:"name"`
	Objectives []struct {
		Metric     string   `yaml:"metric"`
		Percentile *float64 `yaml:"percentile"`
		AtMost     *string  `yaml:"at_most"`
		Class      string   `yaml:"class"`
	} `yaml:"objectives"`
	Cost *struct {
		PerGPUHour *float64 `yaml:"per_gpu_hour"`
	} `yaml:"cost"`
}

// ReadSLO reads an SLO from a YAML file. Whatever it does not know, or cannot be meant, is an
// error that names the line.
func ReadSLO(path string) (SLO, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return SLO{}, hint.Errorf("slo %s: %w", path, errors.Unwrap(err)).Hint("name the file of an SLO")
	}
	slo, err := parseSLO(text)
	if err != nil {
		return SLO{}, hint.Misuse("slo %s: %w", path, err).Hint("%s", cmp.Or(hint.Of(err), sloExample))
	}
	return slo, nil
}

const sloExample = `an objective is written {metric: ttft_from_due, percentile: 99, at_most: 1s} or {metric: failure_ratio, at_most: 0.01}, under "schema: ` + sloSchema + `"`

func parseSLO(text []byte) (SLO, error) {
	var file sloFile
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return SLO{}, yamlError(err, text)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return SLO{}, errors.New("more than one document in it")
	}
	lines := linesOf(text)
	switch {
	case file.Schema == "":
		return SLO{}, fmt.Errorf("line %d: no schema: want %s", lines.at(), sloSchema)
	case file.Schema != sloSchema && file.Schema != firstSLOSchema:
		return SLO{}, fmt.Errorf("line %d: schema %q: want %s", lines.at("schema"), file.Schema, sloSchema)
	case file.Name == "":
		return SLO{}, fmt.Errorf("line %d: no name", lines.at("name"))
	case len(file.Objectives) == 0:
		return SLO{}, fmt.Errorf("line %d: no objectives", lines.at("objectives"))
	}
	slo := SLO{Schema: sloSchema, Name: file.Name}
	for i, written := range file.Objectives {
		objective := Objective{Metric: written.Metric, Class: written.Class}
		err := objective.bound(written.Percentile, written.AtMost)
		if err != nil {
			return SLO{}, fmt.Errorf("line %d: objective %d: %w", lines.at("objectives", strconv.Itoa(i)), i+1, err)
		}
		if file.Schema == firstSLOSchema {
			objective.Metric = fromDue(objective.Metric)
		}
		if earlier := slices.IndexFunc(slo.Objectives, objective.bindsAs); earlier >= 0 {
			return SLO{}, fmt.Errorf("line %d: objective %d: %s is bound twice, by objective %d already",
				lines.at("objectives", strconv.Itoa(i)), i+1, objective, earlier+1)
		}
		slo.Objectives = append(slo.Objectives, objective)
	}
	if file.Cost != nil {
		if file.Cost.PerGPUHour == nil || !(*file.Cost.PerGPUHour > 0) || math.IsInf(*file.Cost.PerGPUHour, 1) {
			return SLO{}, fmt.Errorf("line %d: cost: per_gpu_hour: want a number above 0", lines.at("cost"))
		}
		slo.Cost = &SLOCost{*file.Cost.PerGPUHour}
	}
	return slo, nil
}

// bound takes up what an objective says of its metric.
func (o *Objective) bound(percentile *float64, atMost *string) error {
	isShare := o.Metric == failureRatio
	switch {
	case o.Metric == "":
		return errors.New("no metric")
	case !slices.Contains(sloMetrics, o.Metric):
		return fmt.Errorf("metric %q: known ones are %s", o.Metric, strings.Join(sloMetrics, ", "))
	case isShare && percentile != nil:
		return errors.New("a failure_ratio has no percentile")
	case !isShare && percentile == nil:
		return fmt.Errorf("%s: no percentile: a mean or a maximum is no objective", o.Metric)
	case percentile != nil && *percentile > 0 && *percentile < 1:
		share := strconv.FormatFloat(math.Round(*percentile*1e8)/1e6, 'f', -1, 64)
		return hint.Errorf("percentile %v: a percentile is not written as a share", *percentile).Hint("write %s for p%[1]s", share)
	case percentile != nil && !(*percentile > 0 && *percentile < 100):
		return fmt.Errorf("percentile %v: want a number between 0 and 100, such as 99", *percentile)
	case atMost == nil:
		return fmt.Errorf("%s: no at_most: without a bound nothing can be met", o.Metric)
	}
	if percentile != nil {
		o.Percentile = *percentile
	}
	if isShare {
		share, err := strconv.ParseFloat(*atMost, 64)
		if err != nil || !(share >= 0 && share < 1) {
			return fmt.Errorf("at_most %q: want a share from 0 up to 1, such as 0.01", *atMost)
		}
		o.AtMost = share
		return nil
	}
	length, err := time.ParseDuration(*atMost)
	if err != nil || length <= 0 {
		return fmt.Errorf("at_most %q: want a time with its unit, such as 350ms or 1s", *atMost)
	}
	o.AtMost = length.Seconds()
	return nil
}

// fromDue is what a word of the first schema means.
func fromDue(metric string) string {
	if metric == "ttft" || metric == "e2e" {
		return metric + "_from_due"
	}
	return metric
}

// bindsAs says that two objectives are about the same number, whatever their bounds.
func (o Objective) bindsAs(other Objective) bool {
	return o.Metric == other.Metric && o.Percentile == other.Percentile && o.Class == other.Class
}

// String names the objective as people do: p99 TTFT from due of class P0.
func (o Objective) String() string {
	text := "share of failures"
	if o.Metric != failureRatio {
		metric, fromDue := strings.CutSuffix(o.Metric, "_from_due")
		text = "p" + strconv.FormatFloat(o.Percentile, 'f', -1, 64) + " " + strings.ToUpper(metric)
		if fromDue {
			text += " from due"
		}
	}
	if o.Class != "" {
		text += " of class " + o.Class
	}
	return text
}

var (
	unknownKey = regexp.MustCompile(`line (\d+): field (\S+) not found`)
	wrongKind  = regexp.MustCompile(`line (\d+): cannot unmarshal !!(\w+)(?: ` + "`(.*)`" + `)? into (\S+)`)
	yamlLine   = regexp.MustCompile(`line (\d+): (.*)`)
	tabbed     = regexp.MustCompile(`^[ ]*\t\s*\S`)
)

// yamlError says in the house's words what the decoder found; the first of several.
func yamlError(err error, source []byte) error {
	text := err.Error()
	if found := wrongKind.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("line %s: %s: want %s", found[1], written(found[2], found[3]), wanted(found[4]))
	}
	if line := firstTab(source); line > 0 && !errors.As(err, new(*yaml.TypeError)) {
		return fmt.Errorf("line %d: a tab: YAML wants spaces before a key", line)
	}
	if found := unknownKey.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("line %s: unknown key %s", found[1], found[2])
	}
	if found := yamlLine.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("line %s: %s", found[1], found[2])
	}
	if errors.Is(err, io.EOF) {
		return errors.New("line 1: it is empty")
	}
	return errors.New(strings.TrimPrefix(text, "yaml: "))
}

// firstTab is the first line that is indented by one, or 0.
func firstTab(source []byte) int {
	for i, line := range bytes.Split(source, []byte("\n")) {
		if tabbed.Match(line) {
			return i + 1
		}
	}
	return 0
}

// written is what a file has, by YAML's word for its kind.
func written(kind, value string) string {
	switch kind {
	case "seq":
		return "a list"
	case "map":
		return "keys and values"
	}
	return strconv.Quote(value)
}

// wanted is what is asked for instead, by the Go type that the decoder could not fill.
func wanted(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case goType == "string":
		return "a word"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	}
	return "keys and values"
}

// sourceLines finds where in a YAML text a value stands.
type sourceLines struct{ root *yaml.Node }

func linesOf(text []byte) sourceLines {
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return sourceLines{&yaml.Node{Line: 1}}
	}
	return sourceLines{document.Content[0]}
}

// at is the line of what a path of keys and places leads to, or of the last part of it that is there.
func (l sourceLines) at(path ...string) int {
	node, line := l.root, l.root.Line
	for _, key := range path {
		node = child(node, key)
		if node == nil {
			return line
		}
		line = node.Line
	}
	return line
}

func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
