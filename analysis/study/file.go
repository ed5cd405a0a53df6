//go:build duckdb_arrow

package study

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/tune"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

const schema = "tidemark.study/1"

// Baseline is the name of the configuration that is measured first.
const Baseline = "baseline"

// Stop is what if_refuted says to end a study.
const Stop = "stop"

// File is a study as its author wrote it.
type File struct {
	tune.Asked
	SLOPath string // empty: the objectives are in the file
	SLO     analysis.SLO
	Base    deployment.Deployment // what configurations change
	Model   string                // as the servers at base_url call it
	Load    time.Duration         // of each search at one of them
	At      float64               // requests/s at which p99 are compared; 0: they are not
	Repeats int
	Steps   []Step // the first measures the baseline

	baseline Configuration
}

// Step is a few configurations with what their author expects of them.
type Step struct {
	Name           string
	Configurations []Configuration
	Hypothesis     *Hypothesis // nil: of the baseline, and of a control
	IfRefuted      string      // Stop, the name of a later step, or text; empty: go on
	IsControl      bool        // the baseline again, on traffic of its own: it must not differ
	Repeats        int
	line           int
}

// Configuration is one thing to measure: by rehearsal, unless it names a server, an experiment or results.
type Configuration struct {
	Name           string
	Deployment     deployment.Deployment
	Replicas       int
	IsCached       bool     // its prefix cache is on, as by default
	Settings       []string // that differ from the baseline's deployment, in words
	BaseURL        string   // of a server that runs so
	ExperimentPath string
	Results        []string       // sources of results of other tools, by name or by pattern
	Points         map[string]any // settings of the measurements in them that count; nil: all
	Each           []string       // patterns of settings: it stands for a configuration of each of their combinations (Expand)
	line           int
}

// Hypothesis is what a step expects of at least one of its configurations.
type Hypothesis struct {
	Metric    string  `json:"metric"`    // of Metrics
	Direction string  `json:"direction"` // up or down
	AtLeast   float64 `json:"at_least"`  // a share
	Against   string  `json:"against"`   // a configuration
}

// Metrics that a hypothesis can be about.
var Metrics = []string{"rate", "cost", "p99_ttft", "p99_tpot", "p99_itl"}

//go:embed examples
var examples embed.FS

// Example is the text of a built-in study.
func Example(name string) ([]byte, bool) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	return text, err == nil
}

// Examples are the names of the built-in studies.
func Examples() (names []string) {
	entries, _ := examples.ReadDir("examples") // embedded: it is there
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

// Read reads and checks a file, or a built-in study by its name. Paths in a file are relative to it.
func Read(path string) (File, error) {
	text, isBuiltin := Example(path)
	if !isBuiltin {
		var err error
		if text, err = userfile.ReadAll(path); err != nil {
			return File{}, hint.Errorf("study: %w", err).Hint("name a file, or a built-in study: %s", strings.Join(Examples(), ", "))
		}
	}
	f, err := parse(text)
	if err == nil && f.SLOPath != "" {
		f.SLOPath = tune.Beside(path, f.SLOPath)
		f.SLO, err = analysis.ReadSLO(f.SLOPath)
	}
	if err != nil {
		return f, hint.AsMisuse(fmt.Errorf("study %s: %w", path, err))
	}
	f.Locate(path, text, f.SLOPath)
	for i := range f.Steps {
		for j := range f.Steps[i].Configurations {
			if c := &f.Steps[i].Configurations[j]; c.ExperimentPath != "" {
				c.ExperimentPath = tune.Beside(path, c.ExperimentPath)
			}
		}
	}
	return f, nil
}

func parse(text []byte) (File, error) {
	f := File{Repeats: 3, Load: 10 * time.Minute}
	root, err := yamlfile.Parse(text)
	if err != nil {
		return f, err
	}
	var named string
	var steps, baseline *yamlfile.Node
	later := func(into **yamlfile.Node) yamlfile.Field { // configurations change a deployment that may stand below them
		return func(_ string, node *yamlfile.Node) error { *into = node; return nil }
	}
	err = yamlfile.Fields{
		"schema":     yamlfile.OneOf(&named, schema),
		"name":       yamlfile.Text(&f.Name),
		"traffic":    f.ReadTraffic,
		"slo":        yamlfile.Text(&f.SLOPath),
		"objectives": f.SLO.Field(),
		"deployment": tune.DeploymentFields(&f.Base, "under vary").Read,
		"model":      yamlfile.Text(&f.Model),
		"load":       yamlfile.Duration(&f.Load),
		"at":         yamlfile.Between(&f.At, 1e-6, 1e6),
		"repeats":    yamlfile.Whole(&f.Repeats, 1, 1000),
		"baseline":   later(&baseline),
		"steps":      later(&steps),
	}.ReadWith("", root, "schema", "name", "steps")
	switch {
	case err != nil:
		return f, err
	case (f.SLOPath == "") == (len(f.SLO.Objectives) == 0):
		return f, yamlfile.Errorf(root, "slo or objectives: one of them is needed")
	case f.CheckName() != nil:
		return f, f.CheckName()
	}
	f.SLO.Name = cmp.Or(f.SLO.Name, f.Name)
	f.Base = f.Base.Normal()
	f.baseline = Configuration{Deployment: f.Base, Replicas: 1, IsCached: true}
	if baseline != nil {
		if err := f.readConfiguration(&f.baseline)("baseline", yamlfile.Resolved(baseline)); err != nil {
			return f, err
		}
	}
	if len(f.baseline.Each) > 0 {
		return f, hint.Wrap(yamlfile.Errorf(baseline, "baseline: each: it is one configuration")).Hint("points: {params.max_num_seqs: 64} says which")
	}
	f.baseline.Name = Baseline
	f.Steps = []Step{{Name: Baseline, Configurations: []Configuration{f.baseline}, Repeats: f.Repeats}}
	if err := yamlfile.Each(f.addStep)("steps", yamlfile.Resolved(steps)); err != nil {
		return f, err
	}
	return f, f.check(root)
}

func (f *File) addStep(where string, node *yamlfile.Node) error {
	s := Step{Repeats: f.Repeats, line: node.Line}
	again := f.baseline
	err := yamlfile.Fields{
		"results":    readResults(&again),
		"points":     readPoints(&again),
		"name":       yamlfile.Text(&s.Name),
		"vary":       func(where string, node *yamlfile.Node) error { return f.readVary(&s, where, node) },
		"hypothesis": s.readHypothesis,
		"if_refuted": yamlfile.Text(&s.IfRefuted),
		"control":    yamlfile.Flag(&s.IsControl),
		"repeats":    yamlfile.Whole(&s.Repeats, 1, 1000),
	}.ReadWith(where, node, "name")
	switch {
	case err != nil:
		return err
	case s.IsControl && (s.Hypothesis != nil || len(s.Configurations) > 0):
		return hint.Wrap(yamlfile.Errorf(node, "%s: a control has no vary and no hypothesis: it is the baseline again, which must not differ", where)).Hint("leave them out")
	case s.IsControl && len(f.baseline.Results) > 0 && slices.Equal(again.Results, f.baseline.Results) && maps.Equal(again.Points, f.baseline.Points):
		return hint.Wrap(yamlfile.Errorf(node, "%s: the baseline is imported: a control needs other results of it", where)).Hint("results: [SOURCE] of a rerun")
	case s.IsControl:
		again.Name = s.Name
		s.Configurations = []Configuration{again}
	case len(again.Results) != len(f.baseline.Results) || len(again.Points) != len(f.baseline.Points):
		return yamlfile.Errorf(node, "%s: results are of a configuration, or of a control", where)
	case s.Hypothesis == nil || len(s.Configurations) == 0:
		return hint.Wrap(yamlfile.Errorf(node, "%s: a step has vary and hypothesis, or is a control", where)).
			Hint("hypothesis: {metric: rate, direction: up, at_least: 5%%, against: baseline}")
	}
	f.Steps = append(f.Steps, s)
	return nil
}

// readVary reads configurations, or the file of an experiment as the one of the step.
func (f *File) readVary(s *Step, where string, node *yamlfile.Node) error {
	c := f.baseline
	if isList := node.Tag == "!!seq"; !isList && len(node.Content) == 0 {
		err := yamlfile.Text(&c.ExperimentPath)(where, node)
		c.BaseURL, c.Results, c.Points, c.line = "", nil, nil, node.Line
		s.Configurations = []Configuration{c}
		return err
	}
	return yamlfile.Each(func(where string, node *yamlfile.Node) error {
		c := f.baseline
		c.Name, c.BaseURL, c.ExperimentPath, c.Results, c.Points, c.Settings = "", "", "", nil, nil, nil
		err := f.readConfiguration(&c)(where, node)
		s.Configurations = append(s.Configurations, c)
		return err
	})(where, node)
}

// readConfiguration reads what differs from the baseline. It is named by that, unless it has a name.
func (f *File) readConfiguration(c *Configuration) yamlfile.Field {
	return func(where string, node *yamlfile.Node) error {
		c.line = node.Line
		fields := tune.DeploymentFields(&c.Deployment, "under vary")
		fields["name"] = yamlfile.Text(&c.Name)
		fields["base_url"] = yamlfile.Text(&c.BaseURL)
		fields["experiment"] = yamlfile.Text(&c.ExperimentPath)
		fields["replicas"] = yamlfile.Whole(&c.Replicas, 1, 10_000)
		fields["enable_prefix_caching"] = yamlfile.Flag(&c.IsCached)
		fields["results"] = readResults(c)
		fields["points"] = readPoints(c)
		fields["each"] = yamlfile.Texts(&c.Each)
		if err := fields.Read(where, node); err != nil {
			return err
		}
		c.Deployment = c.Deployment.Normal()
		if err := c.Deployment.Check(); err != nil {
			return yamlfile.Errorf(node, "%s: %w", where, err)
		}
		how := 0
		for _, is := range []bool{c.BaseURL != "", c.ExperimentPath != "", len(c.Results) > 0} {
			if is {
				how++
			}
		}
		if how > 1 {
			return yamlfile.Errorf(node, "%s: base_url, experiment, results: one of them says how it is measured", where)
		}
		c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
		c.Settings = c.differing(f.baseline)
		if len(c.Each) > 0 && len(c.Results) == 0 {
			return hint.Wrap(yamlfile.Errorf(node, "%s: each is of the settings in results", where)).Hint(`{results: [trials], each: ["params.*"]}`)
		}
		if len(c.Each) > 0 {
			c.Name = "each " + strings.Join(c.Each, ", ")
		}
		c.Name = cmp.Or(c.Name, strings.Join(c.Settings, ", "))
		return nil
	}
}

// readResults reads names of sources, in place of the baseline's.
func readResults(c *Configuration) yamlfile.Field {
	return func(where string, node *yamlfile.Node) error {
		c.Results, c.ExperimentPath = nil, ""
		return yamlfile.Texts(&c.Results)(where, node)
	}
}

// readPoints reads settings of measurements, in place of the baseline's.
func readPoints(c *Configuration) yamlfile.Field {
	return func(where string, node *yamlfile.Node) error {
		c.Points = nil
		return yamlfile.Map(&c.Points)(where, node)
	}
}

// differing are the settings that are not the baseline's, in words.
func (c Configuration) differing(base Configuration) (words []string) {
	for _, of := range deployment.Fields {
		if v := of.Get(c.Deployment); v != nil && v != of.Get(base.Deployment) {
			words = append(words, fmt.Sprintf(cmp.Or(of.Label, "%s"), fmt.Sprint(v)))
		}
	}
	if c.Replicas != max(base.Replicas, 1) {
		words = append(words, fmt.Sprintf("%d replicas", c.Replicas))
	}
	if c.IsCached != base.IsCached {
		words = append(words, map[bool]string{true: "cache", false: "no cache"}[c.IsCached])
	}
	return words
}

func (s *Step) readHypothesis(where string, node *yamlfile.Node) error {
	h := Hypothesis{Against: Baseline}
	var atLeast string
	err := yamlfile.Fields{
		"metric":    yamlfile.OneOf(&h.Metric, Metrics...),
		"direction": yamlfile.OneOf(&h.Direction, "up", "down"),
		"at_least":  yamlfile.Text(&atLeast),
		"against":   yamlfile.Text(&h.Against),
	}.ReadWith(where, node, "metric", "direction", "at_least")
	if err != nil {
		return err
	}
	number, isPercent := strings.CutSuffix(atLeast, "%")
	h.AtLeast, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if h.AtLeast /= 100; err != nil || !isPercent || !(h.AtLeast > 0 && h.AtLeast <= 10) {
		return yamlfile.Errorf(node, "%s.at_least: %q: want a percentage above 0, such as 5%%", where, atLeast)
	}
	s.Hypothesis = &h
	return nil
}

// check refuses what concerns several keys at once.
func (f *File) check(root *yamlfile.Node) error {
	line := map[string]int{}
	var steps []string
	isRehearsed := false
	for _, s := range f.Steps {
		if slices.Contains(steps, s.Name) {
			return fmt.Errorf("line %d: steps: %q twice", s.line, s.Name)
		}
		steps = append(steps, s.Name)
		if h := s.Hypothesis; h != nil && line[h.Against] == 0 && h.Against != Baseline {
			return fmt.Errorf("line %d: hypothesis: against %q: no configuration before this step has that name", s.line, h.Against)
		} else if h != nil && strings.HasPrefix(h.Metric, "p99") && f.At == 0 {
			return hint.Errorf("line %d: hypothesis: %s at which rate?", s.line, h.Metric).Hint("say it beside steps, such as at: 2 (requests/s)")
		}
		for i, c := range s.Configurations {
			if c.Name == "" || s.Name != Baseline && c.Name == Baseline && c.ExperimentPath == "" {
				return fmt.Errorf("line %d: step %q: configuration %d is the baseline: change a setting, or make the step a control", s.line, s.Name, i+1)
			}
			if c.ExperimentPath != "" && c.Name == Baseline && s.Name != Baseline {
				c.Name = s.Name
				s.Configurations[i].Name = s.Name
			}
			if line[c.Name] > 0 {
				return fmt.Errorf("line %d: %q twice: give one of them a name of its own", c.line, c.Name)
			}
			line[c.Name] = max(c.line, 1)
			isRehearsed = isRehearsed || c.IsRehearsed() || c.BaseURL != ""
			if c.IsRehearsed() && f.baseline.BaseURL != "" {
				return hint.Errorf("line %d: %s: the baseline is sent to a server, and this would be rehearsed", c.line, c.Name).Hint("base_url: of a server that runs so")
			}
			if c.BaseURL != "" && f.Model == "" {
				return hint.Errorf("line %d: model: is missing: as the server calls it", c.line).Hint("model: llama, beside steps")
			}
			if c.BaseURL != "" && c.Replicas > 1 {
				return fmt.Errorf("line %d: %s: base_url is one server, and replicas says %d", c.line, c.Name, c.Replicas)
			}
			if c.ExperimentPath != "" && f.SLOPath == "" {
				return hint.Errorf("line %d: an experiment is judged by the file of an SLO", c.line).Hint("slo: slo.yaml in place of objectives")
			}
		}
	}
	switch {
	case isRehearsed && f.Traffic == "":
		return yamlfile.Errorf(root, "traffic: is missing: what is rehearsed or sent needs it")
	case isRehearsed && (f.Base.GPU == "" || f.Base.CatalogModel == ""):
		return hint.Errorf("deployment: gpu and model are needed for what is rehearsed or sent").Hint("deployment: {gpu: H200, model: llama-3.1-70b}")
	}
	return nil
}

// IsRehearsed says that nothing is sent for the configuration and nothing was imported.
func (c Configuration) IsRehearsed() bool {
	return c.BaseURL == "" && c.ExperimentPath == "" && len(c.Results) == 0
}

// Asked are the settings that the deployment names, as a server would say them.
func (c Configuration) Asked() map[string]string {
	asked := map[string]string{"enable_prefix_caching": strconv.FormatBool(c.IsCached)}
	for _, of := range deployment.Fields {
		if v := of.Get(c.Deployment); v != nil {
			asked[of.Name] = fmt.Sprint(v)
		}
	}
	return asked
}

// OfReplicas is a sum over all replicas of what one costs.
func (c Configuration) OfReplicas(usdPerHour float64) float64 {
	return float64(c.Replicas) * usdPerHour
}

// GPUs of all replicas.
func (c Configuration) GPUs() int { return c.Deployment.GPUsOf(c.Replicas) }

// Draw is the number of the traffic that a repeat is measured on. All configurations share draws; a control has its own.
func (s Step) Draw(repeat int) int {
	if s.IsControl {
		return controlDraws + repeat
	}
	return repeat
}

const controlDraws = 1000

// Seed of a draw.
func Seed(first uint64, draw int) uint64 { return first + uint64(draw) }
