package send

// The verb profile works with traffic shapes in YAML: list, show, keys, fit and diff.
// replay/profile parses, draws and fits; analysis/workload has the lengths of sources.
//
// A profile that takes its lengths from an ingested source needs a warehouse. Every
// other profile works without one, and then none is opened.
//
// Exit codes: 0; 1 where diff finds two workloads further apart than --threshold; 2 for
// a profile that does not exist or does not parse; 4 for a file that exists already.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/workload"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
	"tidemark/replay/profile"
)

type profileFlags struct {
	kit.Call
	draw                                         int64
	class, histogram, source, fittedName, output string
	catalogue                                    string
	input, answers, cached                       string // quantiles of tokens
	isYAML                                       bool
	rate                                         *float64 // nil: the trace's own
	threshold                                    float64
	seed                                         uint64
}

func ProfileCommand() *cli.Command {
	f := &profileFlags{}
	return &cli.Command{
		Name:      "profile",
		Usage:     "traffic shapes in YAML: list, show, keys, fit, diff",
		ArgsUsage: "list | keys | show NAME | fit | diff A B",
		Description: `show draws a profile and compares the draw with what the profile asks for.
keys prints a profile with every key and distribution there is, explained.
fit makes one from quantiles, a histogram (--histogram), an ingested trace
(--source) or a workload of inference-perf's catalogue (--catalogue). diff says how far apart two workloads are: profiles, traces or
runs. A profile is a name of the list or a .yaml file.

Example:
  tidemark profile show gtc-multiturn --draw 10000
  tidemark profile fit --rate 2 \
    --input-tokens p50=5900,p95=12700 --output-tokens p50=978,p95=1720`,
		Flags: f.TableFlags(
			&cli.Int64Flag{Name: "draw", Usage: "show, diff: draw `N` requests", Value: 10_000, Destination: &f.draw},
			&cli.StringFlag{Name: "class", Usage: "show, diff: one `CLASS` alone", Destination: &f.class},
			&cli.BoolFlag{Name: "yaml", Usage: "show: print the file itself", Destination: &f.isYAML},
			kit.SeedFlag(new(uint64)),
			&cli.StringFlag{Name: "input-tokens", Usage: "fit: `QUANTILES` of prompts, such as p50=5900,p95=12700", Destination: &f.input},
			&cli.StringFlag{Name: "output-tokens", Usage: "fit: `QUANTILES` of answers", Destination: &f.answers},
			&cli.StringFlag{Name: "cached-tokens", Usage: "fit: `QUANTILES` of the prompt tokens that the prefix cache had", Destination: &f.cached},
			&cli.StringFlag{Name: "histogram", Usage: "fit: buckets in a CSV `FILE` with the columns until and count, or le and count where counts are cumulative as Prometheus has them; of says whose: input (if left out), output or cached; from is the bound before, if left out", Destination: &f.histogram},
			&cli.StringFlag{Name: "source", Usage: "fit: an ingested `TRACE`'s lengths, rate and burstiness", Destination: &f.source},
			&cli.StringFlag{Name: "catalogue", Usage: "fit: a config.json of inference-perf's workload-catalog. --output X.yaml also writes X.average.yaml, the same with average sizes, and X.slo.yaml, its objectives", Destination: &f.catalogue},
			&cli.Float64Flag{Name: "rate", Usage: "fit: `2` requests/s (default: the trace's own, else 1)", Action: kit.Said(&f.rate)},
			&cli.StringFlag{Name: "name", Usage: "fit: call the profile `NAME`", Value: "fitted", Destination: &f.fittedName},
			&cli.Float64Flag{Name: "threshold", Usage: "diff: exit with 1 above `0.1` of either distance", Value: 0.1, Destination: &f.threshold},
			&cli.StringFlag{Name: "output", Usage: "fit: write `FILE`; - is stdout", Value: "-", Destination: &f.output},
		),
		Action: f.Do(f.run),
	}
}

// run dispatches to list, show, keys, fit and diff.
func (f *profileFlags) run() error {
	verb, names := f.Args.First(), f.Args.Tail()
	action, isKnown := profileActions[verb]
	switch {
	case !isKnown:
		return hint.Misuse("profile: %q: must be list, show, keys, fit or diff", verb).Hint("tidemark profile --help")
	case len(names) != action.names:
		return hint.Misuse("profile %s: %s", verb, action.wants).Hint("tidemark profile --help")
	}
	for _, flag := range strings.Fields("draw class yaml seed input-tokens output-tokens cached-tokens histogram source catalogue rate name threshold output") {
		if f.IsGiven(flag) && !slices.Contains(strings.Fields(action.flags), flag) {
			return hint.Misuse("profile %s: it has no use for --%s", verb, flag).Hint("tidemark profile --help-all says whose it is")
		}
	}
	return action.run(f, names)
}

// profileActions are the verbs of profile, with the number of names that each wants and the flags that it has.
var profileActions = map[string]struct {
	names        int
	wants, flags string
	run          func(f *profileFlags, names []string) error
}{
	"list": {0, "takes no name", "", func(f *profileFlags, _ []string) error { return listProfiles(&f.Call) }},
	"show": {1, "one name or file", "draw class yaml seed", func(f *profileFlags, names []string) error { return f.show(names[0]) }},
	"keys": {0, "takes no name", "", func(f *profileFlags, _ []string) error { return writeProduct(&f.Call, profile.Keys()) }},
	"fit": {0, "takes no name; --name gives it", "input-tokens output-tokens cached-tokens histogram source catalogue rate name output",
		func(f *profileFlags, _ []string) error { return f.fit() }},
	"diff": {2, "two workloads: profiles, traces or runs", "draw class threshold seed", func(f *profileFlags, names []string) error { return f.diff(names[0], names[1]) }},
}

// writeProduct writes bytes that may be meant for another program.
func writeProduct(c *kit.Call, text []byte) error {
	_, err := terminal.Product(c.App.Writer).Write(text)
	return err
}

func listProfiles(c *kit.Call) error {
	table := kit.TableOf("name", "mode", "classes", "description")
	for _, name := range profile.Builtins() {
		p, _ := profile.Builtin(name)
		var classes []string
		for _, class := range p.Classes {
			classes = append(classes, class.Name)
		}
		table.Rows = append(table.Rows, []any{name, p.Mode, strings.Join(classes, " "), p.Description})
	}
	return c.PrintTable(table)
}

// loadedProfile is a built-in profile or that of a file, and its text.
func loadedProfile(name string) (*profile.Profile, []byte, error) {
	if text, ok := profile.BuiltinText(name); ok {
		p, err := profile.Parse(name, text)
		return p, text, err
	}
	if !IsProfileFile(name) {
		return nil, nil, hint.Misuse("profile: no profile named %q", name).
			Hint("built in are %s; a file is named by .yaml", strings.Join(profile.Builtins(), ", "))
	}
	text, err := userfile.ReadAll(name)
	if err != nil {
		return nil, nil, fmt.Errorf("profile: %w", err)
	}
	p, err := profile.Parse(name, text)
	return p, text, hint.AsMisuse(err)
}

// IsProfileFile looks at the name only, so that a profile that does not exist is reported
// as a missing file.
func IsProfileFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// show prints the profile as YAML, or what it asks for next to what a draw
// gives.
func (f *profileFlags) show(name string) error {
	p, text, err := loadedProfile(name)
	if err != nil {
		return err
	}
	if flag := f.Given("draw", "class", "seed"); f.isYAML && flag != "" {
		return hint.Misuse("profile show: --yaml prints the file, and --%s draws from it", flag).Hint("leave one out")
	}
	if f.isYAML {
		return writeProduct(&f.Call, text)
	}
	if f.draw < 1 {
		return hint.Misuse("profile show: --draw must be above 0")
	}
	shapes, err := f.alone(p)
	if err != nil {
		return err
	}
	if p.Description != "" {
		f.Tell("%s: %s", p.Name, p.Description)
	} else {
		f.Tell("%s", p.Name)
	}
	return f.withLengths(p, func(lengths func(string) (profile.Lengths, error)) error {
		table := kit.TableOf("class", "quantity", "asked", "drawn", "off_ratio")
		for _, shape := range shapes {
			rows, err := f.figuresOf(shape, lengths)
			if err != nil && len(shapes) > 1 {
				f.Tell("class %s is left out: %v", shape.Classes[0].Name, err)
				continue
			}
			if err != nil {
				return err
			}
			table.Rows = append(table.Rows, rows...)
		}
		return f.PrintTable(table)
	})
}

// alone are the profiles to draw one by one: the profile itself, the chosen class,
// or each class of a profile whose classes are played alone.
func (f *profileFlags) alone(p *profile.Profile) ([]*profile.Profile, error) {
	if f.class != "" || p.Arrivals.Process != "" {
		only, err := chosenClass(p, f.class)
		return []*profile.Profile{only}, err
	}
	var all []*profile.Profile
	for _, class := range p.Classes {
		only, err := p.Only(class.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, only)
	}
	return all, nil
}

// endless is a profile that only the number of requests (--draw) ends.
func (f *profileFlags) endless(p *profile.Profile, lengths func(string) (profile.Lengths, error)) (*profile.Profile, profile.Options) {
	const forever = 100 * 365 * 24 * time.Hour
	shape := *p
	shape.Sessions = 0
	return &shape, profile.Options{Seed: f.seed, Duration: forever, Limit: f.draw, Lengths: lengths}
}

// figuresOf compares what a profile asks for with a draw. off_ratio is null where nothing
// is asked for, or zero.
func (f *profileFlags) figuresOf(p *profile.Profile, lengths func(string) (profile.Lengths, error)) ([][]any, error) {
	shape, options := f.endless(p, lengths)
	figures, err := shape.Measure(options)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, f := range figures {
		row := []any{f.Class, f.Quantity, nil, f.Drawn, nil}
		if !math.IsNaN(f.Asked) {
			row[2] = f.Asked
			if f.Asked != 0 {
				row[4] = f.Off()
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// withLengths lends the lengths of ingested sources to a profile that uses any. A
// profile that uses none needs no warehouse.
func (f *profileFlags) withLengths(p *profile.Profile, use func(func(string) (profile.Lengths, error)) error) error {
	if len(p.Sources()) == 0 {
		return use(nil)
	}
	return f.WithWarehouseIfAny(func(ctx context.Context, w *warehouse.Warehouse) error { return use(lengthsIn(ctx, w)) })
}

// lengthsIn looks up the lengths of sources in a warehouse; nil without one.
func lengthsIn(ctx context.Context, w *warehouse.Warehouse) func(string) (profile.Lengths, error) {
	if w == nil {
		return nil
	}
	return func(source string) (profile.Lengths, error) { return lengthsOf(ctx, w, source) }
}

// lengthsOf are the lengths of a complete ingested trace.
func lengthsOf(ctx context.Context, w *warehouse.Warehouse, source string) (profile.Lengths, error) {
	return workload.Lengths(ctx, w.DB(), source, workload.Window{})
}

func (f *profileFlags) fit() error {
	if f.catalogue != "" {
		return f.fitCatalogue()
	}
	fitting, err := f.fitting()
	if err != nil {
		return err
	}
	text, err := profile.Fit(fitting)
	if err != nil {
		return hint.AsMisuse(err)
	}
	if f.output == "-" {
		err = writeProduct(&f.Call, text)
	} else if err = writeNew(f.output, text); err == nil {
		f.Tell("profile in %s; look at it: tidemark profile show %s", f.output, escape.Shell(f.output))
	}
	if err == nil && f.rate == nil && f.source == "" {
		f.Tell("profile fit: no --rate: 1/s is written")
	}
	return err
}

// fitCatalogue writes the profile of a workload of a catalogue, and beside it its control and its SLO.
func (f *profileFlags) fitCatalogue() error {
	if flag := f.Given("input-tokens", "output-tokens", "cached-tokens", "histogram", "source"); flag != "" {
		return hint.Misuse("profile fit: --%s beside --catalogue, which has all lengths", flag).Hint("leave one out")
	}
	content, err := userfile.ReadAll(f.catalogue)
	if err != nil {
		return fmt.Errorf("profile fit: %w", err)
	}
	name, rate := f.fittedName, 1.0
	if !f.IsGiven("name") {
		name = catalogueName(f.catalogue)
	}
	if f.rate != nil {
		rate = *f.rate
	}
	made, err := profile.FromCatalogue(name, content, rate)
	if err != nil {
		return hint.AsMisuse(fmt.Errorf("profile fit: %s: %w", f.catalogue, err))
	}
	for _, note := range made.Notes {
		f.Tell("profile fit: %s", note)
	}
	if f.output == "-" {
		return writeProduct(&f.Call, made.Profile)
	}
	base := strings.TrimSuffix(f.output, filepath.Ext(f.output))
	for _, file := range []struct {
		path, is string
		text     []byte
	}{{f.output, "profile", made.Profile}, {base + ".average.yaml", "the same with average sizes", made.Average}, {base + ".slo.yaml", "its objectives", made.SLO}} {
		if file.text == nil {
			f.Tell("profile fit: the file has no objectives: write an SLO file")
			continue
		}
		if err := writeNew(file.path, file.text); err != nil {
			return err
		}
		f.Tell("%s: %s", file.path, file.is)
	}
	return nil
}

// catalogueName is the workload's: the catalogue has a folder for each, or NAME.config.json.
func catalogueName(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".json"), "config")
	if name = strings.Trim(name, "."); name != "" {
		return name
	}
	if folder, err := filepath.Abs(filepath.Dir(path)); err == nil {
		return filepath.Base(folder)
	}
	return "fitted"
}

// writeNew writes a file and refuses to overwrite one.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return hint.Errorf("profile fit: %s exists", path).Hint("name another file; nothing is overwritten")
	}
	if err != nil {
		return fmt.Errorf("profile fit: %w", err)
	}
	_, err = file.Write(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// fitting collects what the profile is fitted to: a trace, then a histogram, then
// quantiles. The later ones replace what the earlier ones said.
func (f *profileFlags) fitting() (made profile.Fitting, err error) {
	var from []string
	if f.source != "" {
		if made, err = f.traceFitting(); err != nil {
			return made, err
		}
		from = append(from, "the trace "+f.source)
	}
	if f.histogram != "" {
		if err := histogramFitting(f.histogram, &made); err != nil {
			return made, err
		}
		from = append(from, "the histogram "+filepath.Base(f.histogram))
	}
	for _, given := range []struct {
		flag, text string
		into       *profile.Shape
	}{{"input-tokens", f.input, &made.Input}, {"output-tokens", f.answers, &made.Output}, {"cached-tokens", f.cached, &made.Cached}} {
		if !f.IsGiven(given.flag) {
			continue
		}
		if *given.into, err = profile.ParseQuantiles(given.text); err != nil {
			return made, hint.Misuse("profile fit: --%s: %w", given.flag, err)
		}
		from = append(from, given.flag+" "+given.text)
	}
	made.From, made.Name = strings.Join(from, ", "), f.fittedName
	if f.rate != nil {
		made.RatePerS = *f.rate
	} else if made.RatePerS == 0 {
		made.RatePerS = 1
	}
	return made, nil
}

func (f *profileFlags) traceFitting() (made profile.Fitting, err error) {
	err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		lengths, err := lengthsOf(ctx, w, f.source)
		if err != nil {
			return err
		}
		made, err = profile.FitLengths(lengths)
		return err
	})
	return made, err
}

// histogramFitting replaces the shapes that the file has buckets for.
func histogramFitting(path string, f *profile.Fitting) error {
	file, err := userfile.Open(path)
	if err != nil {
		return fmt.Errorf("profile fit: %w", err)
	}
	defer file.Close()
	shapes, err := profile.Histograms(file)
	if err != nil {
		return hint.Misuse("profile fit: %s: %w", path, err)
	}
	for of, into := range map[string]*profile.Shape{"input": &f.Input, "output": &f.Output, "cached": &f.Cached} {
		if shape, given := shapes[of]; given {
			*into = shape
		}
	}
	return nil
}

// diff says how far apart two workloads are, and exits with 1 if that is
// more than the threshold, and more than chance makes of so many requests.
func (f *profileFlags) diff(a, b string) error {
	if !(f.threshold > 0) {
		return hint.Misuse("profile diff: --threshold must be above 0")
	}
	var sides [2]profile.Lengths
	gather := func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		for i, name := range []string{a, b} {
			if sides[i], err = f.namedLengths(ctx, w, name); err != nil {
				return err
			}
		}
		return nil
	}
	if err := f.WithWarehouseIfAny(gather); err != nil {
		return err
	}
	input, output := profile.Distances(sides[0], sides[1])
	inputChance, outputChance := profile.ByChance(sides[0], sides[1])
	table := kit.TableOf("tokens", "ks_ratio", "wasserstein_ln", "within")
	isWithin := true
	for _, one := range []struct {
		tokens string
		apart  profile.Distance
		chance profile.Distance
	}{{"input", input, inputChance}, {"output", output, outputChance}} {
		within := one.apart.KS <= max(f.threshold, one.chance.KS) && one.apart.Wasserstein <= max(f.threshold, one.chance.Wasserstein)
		isWithin = isWithin && within
		if within && max(one.apart.KS, one.apart.Wasserstein) > f.threshold {
			f.Tell("profile diff: %s: so few requests are up to %s (ks_ratio) and %s (wasserstein_ln) apart by chance: compare more", one.tokens, show.Figures(one.chance.KS), show.Figures(one.chance.Wasserstein))
		}
		table.Rows = append(table.Rows, []any{one.tokens, one.apart.KS, one.apart.Wasserstein, within})
	}
	if err := f.PrintTable(table); err != nil {
		return err
	}
	if !isWithin {
		return kit.ExitError{Code: kit.ExitNotMet, Err: fmt.Errorf("profile diff: %s is not the workload of %s: further apart than %s", a, b, show.Figures(f.threshold))}
	}
	return nil
}

// namedLengths is the lengths of a profile, of a trace, or of what a run sent.
func (f *profileFlags) namedLengths(ctx context.Context, w *warehouse.Warehouse, name string) (profile.Lengths, error) {
	p, _, err := loadedProfile(name)
	if err == nil {
		if p, err = chosenClass(p, f.class); err != nil {
			return profile.Lengths{}, err
		}
		shape, options := f.endless(p, lengthsIn(ctx, w))
		return shape.Drawn(options)
	}
	if IsProfileFile(name) || w == nil {
		return profile.Lengths{}, err
	}
	if l, isRun, err := workload.LengthsOfRun(ctx, w.DB(), name); isRun || err != nil {
		return l, err
	}
	return lengthsOf(ctx, w, name)
}
