//go:build duckdb_arrow

package decide

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
	"tidemark/replay/plan"
)

const contractSchema = "tidemark.contract/1"

// Contract is what a configuration must keep: percentiles within bounds, on this traffic, at this cost. A file that lacks one of them is refused:
// a percentile without its traffic, or without its cost, can always be met.
type Contract struct {
	Name  string       `json:"name"`
	SLO   analysis.SLO `json:"slo"` // its price is the contract's
	Shape Shape        `json:"shape"`
	Cost  Cost         `json:"cost"`
}

// Shape is the traffic that the contract is about.
type Shape struct {
	Source         string  `json:"source"`           // a source, a run, or a plan file
	DistanceAtMost float64 `json:"distance_at_most"` // of prompt and of answer lengths from it: Kolmogorov and Smirnov, 0 to 1
}

// Cost bounds what a million accepted output tokens may cost.
type Cost struct {
	USDPerGPUHour       float64 `json:"usd_per_gpu_hour"`
	USDPerMillionAtMost float64 `json:"usd_per_million_at_most"`
}

const contractExample = `a contract is
schema: ` + contractSchema + `
name: chat
slo: slo.yaml                       # or objectives: [{metric: tpot, percentile: 99, at_most: 60ms}]
shape: {source: azure-conv, distance_at_most: 0.1}
cost: {usd_per_gpu_hour: 2.90, usd_per_million_at_most: 1.20}`

// ReadContract reads a contract from a YAML file. The paths of its SLO and of a plan are relative to it.
func ReadContract(path string) (Contract, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return Contract{}, hint.Errorf("contract %s: %w", path, errors.Unwrap(err)).Hint("name the file of a contract")
	}
	beside := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(path), name)
	}
	c, err := parseContract(text, beside)
	if err != nil {
		return c, hint.Misuse("contract %s: %w", path, err).Hint("%s", cmp.Or(hint.Of(err), contractExample))
	}
	if plan.IsFile(c.Shape.Source) {
		c.Shape.Source = beside(c.Shape.Source)
	}
	return c, nil
}

// parseContract reads the text; beside finds the file of an SLO.
func parseContract(text []byte, beside func(string) string) (c Contract, err error) {
	root, err := yamlfile.Parse(text)
	if err != nil {
		return c, err
	}
	var schema, sloPath string
	var objectives analysis.SLO
	err = yamlfile.Fields{
		"schema":     yamlfile.OneOf(&schema, contractSchema),
		"name":       yamlfile.Text(&c.Name),
		"slo":        yamlfile.Text(&sloPath),
		"objectives": objectives.Field(),
		"shape":      c.Shape.read,
		"cost":       c.Cost.read,
	}.ReadWith("", root, "schema", "name")
	switch {
	case err != nil:
		return c, err
	case sloPath != "" && len(objectives.Objectives) > 0:
		return c, yamlfile.Errorf(root, "slo and objectives exclude each other")
	case sloPath == "" && len(objectives.Objectives) == 0:
		return c, yamlfile.Errorf(root, "slo: is missing, and so are objectives: a contract has a metric, its percentile and its bound")
	}
	if err := yamlfile.Require("", root, "shape", "cost"); err != nil {
		return c, err
	}
	if c.SLO = objectives; sloPath != "" {
		if c.SLO, err = analysis.ReadSLO(beside(sloPath)); err != nil {
			return c, err
		}
	}
	if !slices.ContainsFunc(c.SLO.Objectives, func(o analysis.Objective) bool { return o.Percentile > 0 }) {
		return c, yamlfile.Errorf(root, "no objective has a percentile: a contract bounds one of a latency at least")
	}
	c.SLO.Name = cmp.Or(c.SLO.Name, c.Name)
	c.SLO.Cost = &analysis.SLOCost{PerGPUHour: c.Cost.USDPerGPUHour}
	return c, nil
}

func (s *Shape) read(where string, node *yamlfile.Node) error {
	return yamlfile.Fields{
		"source":           yamlfile.Text(&s.Source),
		"distance_at_most": yamlfile.Between(&s.DistanceAtMost, 0, 1),
	}.ReadWith(where, node, "source", "distance_at_most")
}

func (c *Cost) read(where string, node *yamlfile.Node) error {
	return yamlfile.Fields{
		"usd_per_gpu_hour":        yamlfile.Price(&c.USDPerGPUHour),
		"usd_per_million_at_most": yamlfile.Price(&c.USDPerMillionAtMost),
	}.ReadWith(where, node, "usd_per_gpu_hour", "usd_per_million_at_most")
}
