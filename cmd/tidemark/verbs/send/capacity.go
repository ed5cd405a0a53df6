package send

// The verb capacity searches the largest multiple of a recorded window's traffic that a
// server takes within an SLO. Package analysis/capacity searches; analysis/capacity/live
// sends its probes by replay; this file asks the question and prints the answer.
//
// The state of a search is a file, a line of JSON for each event: after a kill the same
// command goes on where it stopped. The file's name has a hash of what was asked. It is
// ingested at the end, as are the runs, each after it was measured.
//
// Exit codes: 0 found, or above --max-scale; 1 not possible, below --min-scale, or
// undecided; 3 the server died or changed, or this client was late; 2 misuse; 4 anything
// else.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/ingest"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/deployment"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/vllmsim"
	"tidemark/replay/plan"
)

func CapacityCommand() *cli.Command {
	choices := slices.DeleteFunc(ChoiceFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"speed", "thin", "thicken", "request-rate", "limit", "duration"}, f.Names()[0])
	})
	target := slices.DeleteFunc(targetFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"warm-up", "name", "note", "on-dead"}, f.Names()[0])
	})
	return &cli.Command{
		Name:      "capacity",
		Usage:     "how many times this traffic a server takes within an SLO",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Sends a few short runs, each at a multiple of the recorded traffic, and fits a
model of the server to them. The answer is for the window of traffic that is
asked about. Without --base-url the model alone answers, in seconds, and --model
is the catalogue's. The search keeps its state in a file: the same command goes
on after a kill. Exits 1 where no limit was found within --budget.

Example:
  tidemark capacity azure-conv --slo slo.yaml --gpu H100 --model llama-3.1-8b
  tidemark capacity azure-conv --slo slo.yaml --from +10m --until +20m \
    --base-url http://gpu1:8000 --model llama --gpu H100 \
    --catalog-model llama-3.1-8b`,
		Flags: kit.WithWarehouseFlags(slices.Concat([]cli.Flag{
			&cli.DurationFlag{Name: "window", Usage: "without --from and --until: ask about the busiest `10m` that resemble the whole", Value: 10 * time.Minute},
			&cli.StringFlag{Name: "by", Usage: "make more traffic of whole `sessions`, or by speed", Value: "sessions"},
			&cli.DurationFlag{Name: "budget", Usage: "send load for `30m` at most, all runs together", Value: 30 * time.Minute},
			&cli.StringFlag{Name: "precision", Usage: "stop when the interval is within `5%` of the answer", Value: "5%"},
			&cli.Float64Flag{Name: "min-scale", Usage: "the smallest `MULTIPLE` to try; of a closed loop the concurrency"},
			&cli.Float64Flag{Name: "max-scale", Usage: "the largest `MULTIPLE` to try"},
			&cli.BoolFlag{Name: "no-confirm", Usage: "without a last run at the low end of the interval"},
			&cli.StringFlag{Name: "before", Usage: "run `PROGRAM` before each run, with $TIDEMARK_SCALE set: to restart a server, say"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be sent, and stop"},
			&cli.BoolFlag{Name: "fresh", Usage: "begin again, whatever an earlier search has left"},
			&cli.IntFlag{Name: "replicas", Usage: "without --base-url: `N` servers share the traffic", Value: 1},
			&cli.StringFlag{Name: "routing", Usage: "without --base-url: they share it in `turns`, or least-loaded", Value: rehearsal.Turns},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		}, choices, target, new(kit.Deployment).ServedFlags(choices...))...),
		Action: runCapacity,
	}
}

func runCapacity(c *cli.Context) error {
	what, err := kit.OneArgument(c, "source, profile or plan")
	if err != nil {
		return err
	}
	s, err := newSearch(c, what)
	if err != nil {
		return err
	}
	if s.isLive && !c.Bool("dry-run") {
		state, events, err := live.OpenState(s.path, &s.header, c.Bool("fresh"))
		if err != nil {
			return err
		}
		defer state.Close()
		s.state = state
		if answer := live.Answered(events); answer != nil {
			kit.Tell(c, "this search has its answer already, in %s; --fresh searches again", s.path)
			return s.finish(c, *answer)
		}
		s.earlier = live.Resumable(events, s.question.MaxLatenessS)
	}
	if s.question.Twin.StepTime == nil {
		if c.Bool("dry-run") {
			kit.Tell(c, "no GPU is named: a few dozen small requests would show how long steps take, and then what may be sent")
			return nil
		}
		if err := s.measureSteps(c); err != nil {
			return err
		}
	}
	began := time.Now()
	predicted, err := capacity.Rehearse(c.Context, s.question)
	if err != nil {
		return err
	}
	if s.isLive {
		s.tellLoad(c, predicted)
	}
	if c.Bool("dry-run") {
		return nil
	}
	answer := predicted
	if s.isLive {
		answer, err = s.onServer(c)
	} else {
		kit.Tell(c, "rehearsed in %s; nothing was sent", show.Duration(time.Since(began).Seconds()))
		err = s.writeRehearsed(answer)
	}
	if err != nil {
		return err
	}
	return s.finish(c, answer)
}

// finish keeps the search in the warehouse and prints its answer, also where it cannot be kept.
func (s *search) finish(c *cli.Context, answer capacity.Answer) error {
	notTaken := s.takeIn(c)
	if err := s.say(c, answer); notTaken == nil {
		return err
	}
	return hint.Errorf("the answer in %s was not ingested: %w", s.path, notTaken).Hint("tidemark ingest %s%s", s.path, kit.WarehouseWords(c))
}

// search is one question with what it is asked of.
type search struct {
	what     string
	id       string // of the search: source and hash of what is asked
	question capacity.Question
	window   capacity.Window
	header   searchHeader
	path     string      // of the state file
	state    *live.State // nil without a server
	isLive   bool
	server   *live.Server
	plan     plan.Header
	named    deployment.Deployment
	earlier  []capacity.Event // of the same search, from its state file
}

// searchHeader is the first line of the state file.
type searchHeader struct {
	Schema       string                `json:"schema"`
	SearchID     string                `json:"search_id"`
	Source       string                `json:"source"`
	SourceSHA256 string                `json:"source_sha256"`
	Window       searchWindow          `json:"window"`
	Lengths      string                `json:"lengths,omitempty"`
	Mode         string                `json:"mode"`
	By           string                `json:"by"`
	Origin       string                `json:"origin"`
	Deployment   deployment.Deployment `json:"deployment"`
	Replicas     int                   `json:"replicas"`
	Routing      string                `json:"routing"`
	SLO          analysis.SLO          `json:"slo"`
	BudgetS      float64               `json:"budget_s"`
	Precision    float64               `json:"precision"`
	MinScale     float64               `json:"min_scale,omitempty"`
	MaxScale     float64               `json:"max_scale,omitempty"`
	Seed         uint64                `json:"seed"`
	BaseURLs     []string              `json:"base_urls,omitempty"`
	Model        string                `json:"model"`
	StartedAt    string                `json:"started_at"`
	Version      string                `json:"tidemark_version"`
}

type searchWindow struct {
	FromS    float64 `json:"from_s"` // of the source's clock
	UntilS   float64 `json:"until_s"`
	Requests int     `json:"requests"`
	Sessions int     `json:"sessions"`
	RatePerS float64 `json:"rate_per_s"`
}

const searchSchema = "tidemark.capacity/1"

// newSearch reads flags, traffic and deployment, without asking any server.
func newSearch(c *cli.Context, what string) (*search, error) {
	s := &search{what: what, isLive: len(c.StringSlice("base-url")) > 0}
	if err := kit.RequireFlags(c, "slo", "model"); err != nil {
		return nil, err
	}
	if !s.isLive {
		if c.String("catalog-model") == "" {
			c.Set("catalog-model", c.String("model"))
		}
		if err := kit.RequireFlags(c, "gpu"); err != nil {
			return nil, hint.Misuse("capacity: neither --base-url nor --gpu is given").Hint("name a server to measure, or a GPU to rehearse on")
		}
	}
	for flag, words := range map[string][]string{"by": {"sessions", "speed"}, "routing": {rehearsal.Turns, rehearsal.LeastLoaded},
		"cache": {"as-is", "reset", "cold"}, "history": {"planned", "answered"}} {
		if !slices.Contains(words, c.String(flag)) {
			return nil, hint.Misuse("capacity: --%s %s: must be %s", flag, c.String(flag), strings.Join(words, " or "))
		}
	}
	if err := errors.Join(settleHistory(c), kit.PositiveFlags(c, "replicas", "max-concurrency")); err != nil {
		return nil, err
	}
	for _, flag := range []string{"budget", "window"} {
		if c.Duration(flag) < time.Second {
			return nil, hint.Misuse("capacity: --%s %s: must be at least 1s", flag, c.Duration(flag))
		}
	}
	if program := c.String("before"); program != "" {
		if _, err := exec.LookPath(program); err != nil {
			return nil, hint.Misuse("capacity: --before %s: no such program", program)
		}
	}
	if least, most := c.Float64("min-scale"), c.Float64("max-scale"); least < 0 || most < 0 || most > 0 && least >= most {
		return nil, hint.Misuse("capacity: --min-scale %v, --max-scale %v: must be above 0, and the first below the second", least, most)
	}
	precision, err := shareOf(c.String("precision"))
	if err != nil {
		return nil, hint.Misuse("capacity: --precision: %w", err)
	}
	slo, err := analysis.ReadSLO(c.String("slo"))
	if err != nil {
		return nil, hint.AsMisuse(err)
	}
	s.question = capacity.Question{
		BySpeed: c.String("by") == "speed", Seed: c.Uint64("seed"), Budget: c.Duration("budget"), Precision: precision,
		MinScale: c.Float64("min-scale"), MaxScale: c.Float64("max-scale"), Confirm: !c.Bool("no-confirm"), MaxLatenessS: c.Duration("max-lateness").Seconds(),
	}
	for _, o := range slo.Objectives {
		s.question.Objectives = append(s.question.Objectives, capacity.Objective{Metric: o.Metric, Quantile: o.Percentile / 100, AtMost: o.AtMost, Class: o.Class})
	}
	if err := s.ready(c); err != nil {
		return nil, err
	}
	if err := s.question.Check(); err != nil {
		return nil, hint.AsMisuse(err)
	}
	s.header.SLO, s.header.Precision = slo, precision
	return s, s.identify(c)
}

// shareOf reads 5% or 0.05.
func shareOf(text string) (share float64, err error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	if _, err := fmt.Sscanf(strings.TrimSpace(number)+" ", "%g ", &share); err != nil {
		return 0, fmt.Errorf("%q is no share: write 5%% or 0.05", text)
	}
	if isPercent {
		share /= 100
	}
	if !(share > 0 && share < 1) {
		return 0, fmt.Errorf("%s must be above 0 and below 100 %%", text)
	}
	return share, nil
}

// ready takes the traffic into memory and asks the catalogue for the twin, while the
// warehouse is open once.
func (s *search) ready(c *cli.Context) error {
	named, _, err := kit.NamedEnvironment(c)
	if err != nil {
		return err
	}
	var engine vllmsim.Config
	isAsked := named == nil
	ask := func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		isAsked = true
		if named == nil || named.GPU == "" || named.CatalogModel == "" {
			return nil
		}
		s.named, engine, err = engineOf(ctx, w, *named)
		return err
	}
	path, drop, err := PlanFor(c, s.what, ask)
	if err != nil {
		return err
	}
	defer drop()
	if !isAsked {
		if err := kit.Calculator(c, ask); err != nil {
			return err
		}
	}
	if engine.StepTime == nil {
		if !s.isLive {
			return hint.Misuse("capacity: a rehearsal needs --gpu and --model of the catalogue")
		}
		if named != nil {
			return hint.Misuse("capacity: --gpu and --catalog-model go together").
				Hint("name both, or neither: then small requests show how long steps take")
		}
	}
	if err := s.readWindow(c, path); err != nil {
		return err
	}
	q := &s.question
	q.Twin = capacity.Twin{
		Engine:   engine,
		Replicas: max(len(c.StringSlice("base-url")), c.Int("replicas")), Routing: c.String("routing"),
		MaxConcurrency: c.Int("max-concurrency"), IsAnswered: c.String("history") == "answered", IsCold: c.String("cache") == "cold",
	}
	if s.isLive {
		q.Twin.Replicas, q.Twin.Routing = len(c.StringSlice("base-url")), rehearsal.Turns
	} else {
		q.Twin.AreSettingsCertain = true
	}
	if engine.StepTime == nil {
		return nil
	}
	q.Twin.StepTime = capacity.ShiftedSteps(engine.StepTime)
	q.Twin.Engine.MaxModelLen = min(cmp.Or(s.named.MaxModelLen, 131072), engine.KVBlocks*engine.BlockSize)
	return nil
}

// readWindow cuts the window that is asked about.
func (s *search) readWindow(c *cli.Context, path string) error {
	p, err := plan.Open(path)
	if err != nil {
		return err
	}
	s.plan = p.Header()
	var all []plan.Request
	for r, err := range p.Requests() {
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	q := &s.question
	q.Mode = cmp.Or(c.String("mode"), s.plan.Mode, "open")
	from := 0.0
	if s.plan.Scaling.FromS != nil {
		from = *s.plan.Scaling.FromS
	}
	if c.IsSet("from") || c.IsSet("until") || IsPlanFile(s.what) || q.Mode == "closed" {
		end := all[len(all)-1].Due + time.Millisecond
		if until := s.plan.Scaling.UntilS; until != nil && q.Mode == "open" { // what is quiet before it belongs to the window
			end = max(end, plan.FromSeconds((*until-from)/max(s.plan.Scaling.Speed, 1e-9)))
		}
		s.window = capacity.Window{Until: end, RatePerS: float64(len(all)) / end.Seconds()}
		q.Window = all
	} else {
		s.window = capacity.BusiestWindow(all, c.Duration("window"))
		q.Window = s.window.Cut(all, q.Mode == "sessions")
		kit.Tell(c, "window: %s to %s of %s, at %s requests/s the busiest %s that resembles the whole (lengths at most %.0f %% away)", show.Duration(s.window.From.Seconds()),
			show.Duration(s.window.Until.Seconds()), s.what, show.Figures(s.window.RatePerS), show.Duration((s.window.Until - s.window.From).Seconds()), 100*s.window.Distance)
	}
	if len(q.Window) == 0 {
		return hint.Misuse("capacity: no request in the window").Hint("choose another with --from and --until")
	}
	q.Length = s.window.Until - s.window.From
	sessions := map[string]bool{}
	alone := 0
	for _, r := range q.Window {
		if r.Session == "" {
			alone++
		} else {
			sessions[r.Session] = true
		}
	}
	s.header.Window = searchWindow{from + s.window.From.Seconds(), from + s.window.Until.Seconds(), len(q.Window), alone + len(sessions), float64(len(q.Window)) / q.Length.Seconds()}
	return nil
}

// identify names the search and its state file.
func (s *search) identify(c *cli.Context) error {
	h := &s.header
	h.Schema, h.Source, h.SourceSHA256 = searchSchema, s.plan.Source, s.plan.SourceSHA256
	h.Lengths, h.Mode, h.By, h.Origin = s.plan.Scaling.Lengths, s.question.Mode, c.String("by"), "rehearsed"
	h.Deployment, h.Replicas, h.Routing = s.named, s.question.Twin.Replicas, s.question.Twin.Routing
	h.BudgetS, h.MinScale, h.MaxScale, h.Seed, h.Model = s.question.Budget.Seconds(), s.question.MinScale, s.question.MaxScale, s.question.Seed, c.String("model")
	h.Version = kit.Version
	if s.isLive {
		h.Origin = "measured"
		settings, err := settingsOf(c)
		if err != nil {
			return err
		}
		h.BaseURLs = strings.Split(shownServers(settings), ", ")
		s.server = &live.Server{Settings: settings, Runs: c.String("runs"), Source: s.plan, Seed: func(runID string) uint64 { return privateSeed(s.plan.Seed, runID) }}
		s.server.Settings.Environment, s.server.Settings.EnvironmentSource = &s.named, "flags"
		s.server.Settings.Cache = map[string]string{"as-is": "", "reset": "reset", "cold": "cold"}[c.String("cache")]
	}
	asked := struct {
		searchHeader
		Flags map[string]string
	}{*h, map[string]string{}}
	asked.BudgetS, asked.Version = 0, "" // a search may be given more time, and go on with a later version
	for _, flag := range c.Command.Flags {
		if name := flag.Names()[0]; !slices.Contains(notAsked, name) && c.IsSet(name) {
			asked.Flags[name] = fmt.Sprint(c.Value(name))
		}
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	s.id = stemOf(s.what) + "-" + hex.EncodeToString(sum[:4])
	h.SearchID, h.StartedAt = s.id, time.Now().UTC().Format(time.RFC3339)
	s.path = filepath.Join(c.String("runs"), s.id+".capacity.jsonl")
	return nil
}

// notAsked are flags that do not change what is searched for: the same search goes on with others of these. What a file says counts
// elsewhere (--slo), or is not looked at (--body, --header-file).
var notAsked = []string{"budget", "dry-run", "fresh", "json", "quiet", "warehouse", "wait", "publish", "runs", "slo", "api-key-file", "header-file", "progress"}

// measureSteps makes a twin of a server of which nothing is known.
func (s *search) measureSteps(c *cli.Context) error {
	inputs, longest := make([]int, 0, len(s.question.Window)), 0
	for _, r := range s.question.Window {
		inputs = append(inputs, r.InputTokens)
		longest = max(longest, r.InputTokens+r.OutputTokens)
	}
	slices.Sort(inputs)
	kit.Tell(c, "no GPU is named: about forty small requests show how long steps take")
	steps, said, err := s.server.MeasureSteps(c.Context, inputs[len(inputs)*9/10])
	if err != nil {
		return err
	}
	kit.Tell(c, "a step takes about %s, %s more for each sequence, and %s for a thousand tokens of prompt", show.Duration(steps.Base), show.Duration(steps.Sequence), show.Duration(1000*steps.Prompt))
	s.question.Twin.Engine = live.Engine(said, longest)
	s.question.Twin.StepTime = capacity.ShiftedSteps(steps.Time)
	return nil
}

// tellLoad says before the first request what may be sent.
func (s *search) tellLoad(c *cli.Context, predicted capacity.Answer) {
	tokens := 0
	for _, r := range s.question.Window {
		tokens += r.InputTokens + r.OutputTokens
	}
	scale := s.question.MaxScale
	word := "no limit is predicted"
	if predicted.Scale != nil {
		scale = *predicted.Scale
		word = fmt.Sprintf("predicted: %s times", show.Figures(scale))
	}
	if scale == 0 || s.question.Mode == "closed" {
		scale = 1
	}
	minutes := s.question.Budget.Minutes()
	requests := scale * s.header.Window.RatePerS * 60 * minutes
	kit.Tell(c, "%s; may send load for %s in about %d runs: near that limit %s requests with %s tokens, to %s", word, loadTime(60*minutes),
		max(1, int(minutes/2)+2), show.Figures(requests), show.Figures(requests*float64(tokens)/float64(len(s.question.Window))), strings.Join(s.header.BaseURLs, ", "))
}

// loadTime is in minutes where a budget would be.
func loadTime(seconds float64) string {
	if seconds < 120 {
		return show.Duration(seconds)
	}
	return fmt.Sprintf("%.3g minutes", seconds/60)
}

// onServer searches with probes.
func (s *search) onServer(c *cli.Context) (capacity.Answer, error) {
	if slices.ContainsFunc(s.earlier, func(e capacity.Event) bool { return e.Kind == "run" }) {
		kit.Tell(c, "going on with the search in %s; --fresh begins again", s.path)
	}
	s.server.NewID = func() string { return newRunID(s.id) }
	s.server.Begins = func(p capacity.Probe, runID string) {
		kit.Tell(c, "run %d (%s): %s times for %s, %d requests", p.Number, p.Why, show.Figures(p.Scale), show.Duration(p.Length.Seconds()), len(p.Requests))
	}
	s.server.Ended = func(ctx context.Context, folder, runID string) error {
		if _, err := kit.Of(c).IngestRun(context.WithoutCancel(ctx), c.Duration("wait"), folder, runID); err != nil {
			kit.Tell(c, "%v", err) // its folder stays, and the search does not need the warehouse
		}
		return nil
	}
	if program := c.String("before"); program != "" {
		s.server.Before = func(ctx context.Context, scale float64) error { return before(ctx, c, program, scale) }
	}
	isSimulated, err := s.server.IsSimulated(c.Context)
	if err != nil {
		return capacity.Answer{}, err
	}
	if isSimulated {
		s.header.Origin = "simulated"
	}
	told := context.AfterFunc(c.Context, func() {
		kit.Tell(c, "stopping: open streams may finish; the same command goes on with this search; Ctrl-C again ends at once")
	})
	defer told()
	return capacity.Search(c.Context, s.question, s.server, s.earlier, func(e capacity.Event) error {
		if e.Kind == "run" {
			kit.Tell(c, "run %d: %s", e.Run.Number, e.Run.Verdict)
		}
		return s.state.Write(e)
	})
}

// before runs the user's program, whose output is shown.
func before(ctx context.Context, c *cli.Context, program string, scale float64) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("TIDEMARK_SCALE=%v", scale))
	cmd.Stdout, cmd.Stderr = kit.Messages(c), kit.Messages(c)
	if err := cmd.Run(); err != nil {
		return hint.Errorf("capacity: --before %s: %w", program, err).Hint("run it by itself and look at what it says")
	}
	return nil
}

// writeRehearsed writes the file of a search without a server: the answer replaces the earlier one.
func (s *search) writeRehearsed(answer capacity.Answer) error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("capacity: %w", err)
	}
	state, _, err := live.OpenState(s.path, &s.header, false)
	if err != nil {
		return err
	}
	defer state.Close()
	return state.Write(capacity.Event{Question: s.id, Kind: "answer", Answer: &answer})
}

// takeIn keeps the search in the warehouse, where there is one.
func (s *search) takeIn(c *cli.Context) error {
	if _, err := os.Stat(c.String("warehouse")); err != nil && !s.isLive {
		return nil
	}
	err := kit.WithWarehouse(context.WithoutCancel(c.Context), c, warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		_, err := ingest.Load(ctx, w, []string{s.path}, ingest.Options{})
		return err
	})
	if errors.Is(err, warehouse.ErrHeld) {
		kit.Tell(c, "%v; the answer is in %s: tidemark ingest %s", err, s.path, s.path)
		return nil
	}
	return err
}

// say prints the answer: the table of runs, and one sentence.
func (s *search) say(c *cli.Context, a capacity.Answer) error {
	if c.Bool("json") {
		text, err := json.MarshalIndent(a, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(terminal.Product(c.App.Writer), string(text))
		return capacityExit(a)
	}
	if len(a.Table) > 0 {
		if err := kit.PrintForms(c, s.runForms(a.Table)...); err != nil {
			return err
		}
		fmt.Fprintln(c.App.Writer)
	}
	for _, note := range a.Notes {
		kit.Remark(c, "%s", s.spoken(note))
	}
	kit.Remark(c, "%s", s.spoken(s.sentence(a)))
	return capacityExit(a)
}

// spoken writes objectives as people say them: p90 TTFT from due.
func (s *search) spoken(text string) string {
	for _, o := range s.question.Objectives {
		said := analysis.Objective{Metric: o.Metric, Percentile: 100 * o.Quantile, Class: o.Class}.String()
		if o.Quantile > 0 || o.Metric == capacity.FailureRatio {
			text = strings.ReplaceAll(text, o.String(), said)
		}
	}
	return text
}

// runForms are the runs of a search, the widest first. Their ids would not fit in a line: --json has them.
func (s *search) runForms(runs []capacity.Row) []analysis.Table {
	full := kit.TableOf("run", "multiple", "requests/s", "missed", "by", "verdict", "load")
	short, least := kit.TableOf("run", "multiple", "missed", "verdict"), kit.TableOf("run", "multiple", "verdict")
	for i, r := range runs {
		run, multiple, missed := i+1, tables.Figure(show.Figures(r.Scale)), tables.Figure(fmt.Sprintf("%.2f %%", 100*r.MissedRatio))
		verdict := endings.Mark(r.Verdict)
		full.Rows = append(full.Rows, []any{run, multiple, tables.Figure(show.Figures(r.RatePerS)), missed, s.spoken(r.Objective), verdict, tables.Figure(show.Duration(r.Seconds))})
		short.Rows = append(short.Rows, []any{run, multiple, missed, verdict})
		least.Rows = append(least.Rows, []any{run, multiple, verdict})
	}
	return []analysis.Table{full, short, least}
}

// sentence is the answer in words.
func (s *search) sentence(a capacity.Answer) string {
	origin := "measured on " + strings.Join(s.header.BaseURLs, ", ")
	if s.header.Origin == "simulated" {
		origin += ", a simulator"
	}
	if !s.isLive {
		origin = fmt.Sprintf("rehearsed on %d x %s with %s, nothing was sent", s.named.GPUs()*s.header.Replicas, s.named.GPU, s.named.ModelName())
	}
	load := func(scale, rate *float64) string {
		switch {
		case s.question.Mode == "closed":
			return show.Figures(*scale) + " in flight"
		case rate != nil:
			return fmt.Sprintf("%s times the window's traffic, %s requests/s", show.Figures(*scale), show.Figures(*rate))
		}
		return show.Figures(*scale) + " times the window's traffic"
	}
	binds := ""
	if a.BindingObjective != nil {
		binds = "; " + *a.BindingObjective + " binds"
	}
	switch a.Outcome {
	case capacity.Found:
		text := load(a.Scale, a.RatePerS)
		if a.ScaleLow != nil && a.ScaleHigh != nil {
			text += fmt.Sprintf(" (%s to %s, 90 %%%s)", show.Figures(*a.ScaleLow), show.Figures(*a.ScaleHigh), map[bool]string{false: " of the mean over many draws; how far the model is off is not in it"}[s.isLive])
		}
		if a.Users != nil && s.question.Mode == "sessions" {
			text += fmt.Sprintf(", %s users at this think time", show.Figures(*a.Users))
		}
		text += binds
		if a.Confirmed != nil {
			text += map[bool]string{true: "; confirmed by a run at the low end", false: "; NOT confirmed: the run at the low end missed"}[*a.Confirmed]
		} else if s.isLive && s.question.Confirm {
			text += "; not confirmed: the last run could not tell"
		}
		if a.IsWeak {
			text += "; weak: the model does not fit this server"
		}
		return text + "; " + origin + "."
	case capacity.AboveMax:
		return fmt.Sprintf("At least %s, the largest that was asked about; %s.", load(a.ScaleLow, a.RateLowPerS), origin)
	case capacity.BelowMin:
		return fmt.Sprintf("Below %s, the smallest multiple that was asked about%s; %s.", show.Figures(cmp.Or(s.question.MinScale, 0.05)), binds, origin)
	}
	text := map[string]string{capacity.NotPossible: "Not possible at any load: ", capacity.Undecided: "Undecided: ", capacity.Invalid: "Invalid: "}[a.Outcome] + a.Why
	if a.ScaleLow != nil && a.ScaleHigh != nil {
		text += fmt.Sprintf("; between %s and %s so far", show.Figures(*a.ScaleLow), show.Figures(*a.ScaleHigh))
	}
	if a.MinutesEnough != nil {
		text += fmt.Sprintf("; about %s of load in all would be enough: --budget %.0fm goes on", loadTime(60**a.MinutesEnough), *a.MinutesEnough+1)
	}
	return text + "; " + origin + "."
}

func capacityExit(a capacity.Answer) error {
	switch a.Outcome {
	case capacity.Found, capacity.AboveMax:
		return nil
	case capacity.Invalid:
		return kit.ExitError{Code: kit.ExitInvalid}
	}
	return kit.ExitError{Code: kit.ExitNotMet}
}
