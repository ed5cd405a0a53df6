package send

// The question of a search: what is asked about, of which deployment, and the name and header of its state file.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// search is one question with what it is asked of.
type search struct {
	*capacityFlags
	what        string
	id          string // of the search: source and hash of what is asked
	question    capacity.Question
	window      capacity.Window
	header      analysis.AskedCapacity
	path        string      // of the state file
	state       *live.State // nil without a server, and of a dry run
	server      *live.Server
	plan        plan.Header
	named       deployment.Deployment
	saidVersion string            // of the engine, as the user named it; empty: the server says it
	cost        analysis.StepCost // of what is named
	earlier     []capacity.Event  // of the same search, from its state file
}

// newSearch reads flags, traffic and deployment, without asking any server.
func newSearch(f *capacityFlags, what string) (*search, error) {
	precision, err := f.check()
	if err != nil {
		return nil, err
	}
	slo, err := analysis.ReadSLO(f.SLO)
	if err != nil {
		return nil, hint.AsMisuse(err)
	}
	s := &search{capacityFlags: f, what: what, question: capacity.Question{
		BySpeed: f.by == "speed", Seed: f.Seed, Budget: f.budget, Precision: precision,
		MinScale: f.minScale, MaxScale: f.maxScale, Confirm: !f.isUnconfirmed, MaxLatenessS: f.To.MaxLateness.Seconds(),
		Objectives: slo.Searched(),
	}}
	if err := s.ready(); err != nil {
		return nil, err
	}
	if err := s.question.Check(); err != nil {
		return nil, hint.AsMisuse(err)
	}
	s.header.SLO, s.header.Precision = slo, precision
	return s, s.identify()
}

// ofServers are flags that a rehearsal has no use for.
var ofServers = []string{"route", "class-model", "class-environment", "replica-header", "endpoint", "body", "drain-timeout", "api-key-file", "header", "header-file", "metrics-url", "max-failures", "max-lateness",
	"max-stall", "first-byte-timeout", "between-bytes-timeout", "vocab-size", "before", "calibrate", "no-confirm", "fresh", "watch", "watch-port"}

// check refuses flags that contradict each other, and gives the precision as a share.
func (f *capacityFlags) check() (precision float64, err error) {
	if err := f.Require("slo"); err != nil {
		return 0, err
	}
	if !f.isLive() {
		if f.Said.CatalogModel == "" && f.To.Model != "" {
			f.Tell("capacity: without --base-url, --model is now --catalog-model; the next version no longer knows the old name")
			f.Said.CatalogModel = f.To.Model
		}
		f.To.Model = f.Said.CatalogModel
		if f.Said.GPU == "" {
			return 0, hint.Misuse("capacity: neither --base-url nor --gpu is given").Hint("name a server to measure, or a GPU to rehearse on")
		}
		if f.Said.CatalogModel == "" {
			return 0, f.Require("catalog-model")
		}
		if flag := f.Given(ofServers...); flag != "" {
			return 0, hint.Misuse("capacity: --%s is for a server, and a rehearsal sends nothing", flag).Hint("name the server with --base-url, or leave it out")
		}
		if f.To.Cache == "reset" {
			return 0, hint.Misuse("capacity: --cache reset is for a server, and a rehearsal begins with an empty cache").Hint("leave it out, or take --cache cold")
		}
	} else if err := f.Require("model"); err != nil {
		return 0, err
	} else if flag := f.Given("replicas", "routing"); flag != "" {
		return 0, hint.Misuse("capacity: --%s is for a rehearsal; servers that are named take turns", flag).Hint("--base-url again for each replica, or leave --base-url out")
	}
	if f.IsGiven("max-concurrency") && f.To.MaxConcurrency < 1 {
		return 0, hint.Misuse("capacity: --max-concurrency must be at least 1")
	}
	if f.before != "" {
		if _, err := exec.LookPath(f.before); err != nil {
			return 0, hint.Misuse("capacity: --before %s: no such program", f.before)
		}
	}
	if f.minScale < 0 || f.maxScale < 0 || f.maxScale > 0 && f.minScale >= f.maxScale {
		return 0, hint.Misuse("capacity: --min-scale %v, --max-scale %v: must be above 0, and the first below the second", f.minScale, f.maxScale)
	}
	if precision, err = shareOf(f.precision); err != nil {
		return 0, hint.Misuse("capacity: --precision: %w", err)
	}
	return precision, f.SettleHistory(&f.Call, f.To.History)
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
func (s *search) ready() error {
	s.Said.MaxModelLen = s.MaxModelLen
	named, _, err := s.Environment(&s.Call)
	if err != nil {
		return err
	}
	var ask func(context.Context, *warehouse.Warehouse) error
	if named != nil && named.GPU != "" && named.CatalogModel != "" {
		s.saidVersion = named.EngineVersion
		ask = func(ctx context.Context, w *warehouse.Warehouse) error { return s.makeTwin(ctx, w, *named) }
	}
	path, drop, err := s.PlanFor(s.what, ask)
	if err != nil {
		return err
	}
	defer drop()
	q := &s.question
	isNamed := q.Twin.Engine.StepTime != nil
	if !isNamed {
		if !s.isLive() {
			return hint.Misuse("capacity: a rehearsal needs --gpu and --catalog-model")
		}
		if named != nil {
			return hint.Misuse("capacity: --gpu and --catalog-model go together").
				Hint("name both, or neither: then small requests show how long steps take")
		}
		if s.isCalibrated {
			return hint.Misuse("capacity: --calibrate finds the constants of a GPU and a model, and none is named").Hint("name them with --gpu and --catalog-model")
		}
	}
	if err := s.readWindow(path); err != nil {
		return err
	}
	if !s.isLive() && q.Mode != "closed" { // nothing is sent, so that nothing need be spared
		q.MaxScale = cmp.Or(q.MaxScale, capacity.MostScale)
	}
	q.Twin.Replicas, q.Twin.Routing = max(len(s.BaseURLs.Value()), s.replicas), s.routing
	q.Twin.MaxConcurrency, q.Twin.IsAnswered, q.Twin.IsCold = s.To.MaxConcurrency, s.To.History == "answered", s.To.Cache == "cold"
	if s.isLive() {
		q.Twin.Replicas, q.Twin.Routing = len(s.BaseURLs.Value()), rehearsal.Turns
	} else {
		q.Twin.AreSettingsCertain = true
	}
	return nil
}

// makeTwin asks the catalogue for the twin of a named deployment, with the constants that the warehouse has for it now.
func (s *search) makeTwin(ctx context.Context, w *warehouse.Warehouse, named deployment.Deployment) (err error) {
	var engine engine.Config
	if s.cost, engine, err = engineOf(ctx, w, named); err != nil {
		return err
	}
	s.named = s.cost.Deployment
	twin := &s.question.Twin
	if twin.Band, err = analysis.ServerBand(ctx, w.DB(), s.named); err != nil {
		return err
	}
	twin.Engine, twin.StepTime = engine, capacity.ShiftedSteps(engine.StepTime)
	twin.Engine.MaxModelLen = analysis.LongestOf(engine, s.named)
	return nil
}

// readWindow cuts the window that is asked about.
func (s *search) readWindow(path string) error {
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
	q.Mode = cmp.Or(s.Mode, s.plan.Mode, "open")
	length, err := s.WindowLength(s.what, q.Mode == "closed", s.length)
	if err != nil {
		return err
	}
	var caution string
	q.Window, s.window, caution = capacity.CutWindow(all, s.plan, q.Mode, length)
	if s.window.Until == 0 {
		return hint.Misuse("capacity: no %s of %s has %d requests, and of sessions a beginning, which a window needs", show.Duration(length.Seconds()), s.what, capacity.FewestOfWindow).
			Hint("a longer --window, or all of a part with --from and --until")
	}
	if caution != "" {
		q.Remarks = append(q.Remarks, caution)
	}
	if length > 0 {
		of := s.what
		if s.From != "" || s.Until != "" {
			of += " from --from"
		}
		s.Tell("window: +%s to +%s of %s, at %s requests/s the busiest %s that resembles the whole (lengths at most %.0f %% away)", s.window.From.Round(time.Second),
			s.window.Until.Round(time.Second), of, show.Figures(s.window.RatePerS), show.Duration(s.window.Length().Seconds()), 100*s.window.Distance)
	}
	if len(q.Window) == 0 {
		return hint.Misuse("capacity: no session begins in the window").Hint("a longer --window, another with --from and --until, or a plan of \"tidemark plan\", which is taken whole")
	}
	q.Length = s.window.Length()
	if q.Mode == "open" && q.Length < time.Second {
		return hint.Misuse("capacity: the window of %s is %s long: that is a burst, and no rate", s.what, show.Duration(q.Length.Seconds())).
			Hint("a longer part with --from and --until, or --mode closed, which has no rate")
	}
	s.header.Window = s.window.Span(q.Window, s.plan)
	return nil
}

// describe fills in the header, and of a live search the server.
func (s *search) describe() error {
	h := &s.header
	h.Schema, h.Source, h.SourceSHA256 = analysis.CapacitySchema, s.plan.Source, s.plan.SourceSHA256
	h.Lengths, h.Mode, h.By, h.Origin = s.plan.Scaling.Lengths, s.question.Mode, s.by, "rehearsed"
	h.Deployment, h.Replicas, h.Routing = s.named, s.question.Twin.Replicas, s.question.Twin.Routing
	h.BudgetS, h.MinScale, h.MaxScale, h.Seed, h.Model = s.question.Budget.Seconds(), s.question.MinScale, s.question.MaxScale, s.question.Seed, s.To.Model
	h.Version = kit.Version
	if s.isLive() {
		h.Origin = "measured"
		settings, err := s.Settings(&s.Call, s.Mode, s.Said.Engine)
		if err != nil {
			return err
		}
		h.BaseURLs = strings.Split(kit.ShownServers(settings), ", ")
		s.server = &live.Server{Settings: settings, Runs: s.Runs, Source: s.plan, Seed: func(runID string) uint64 { return privateSeed(s.plan.Seed, runID) }}
		if s.question.Twin.StepTime != nil && s.cost.Deployment.GPU != "" { // else its runs are shown without a prediction; tune and study have none
			s.server.Settings.PredictTPOT = s.cost.TPOTOf
		}
		environment := s.named
		environment.EngineVersion = s.saidVersion
		s.server.Settings.Environment, s.server.Settings.EnvironmentSource = &environment, "flags"
		if s.server.Settings.SLO, err = json.Marshal(h.SLO); err != nil { // so that every verb judges these runs by it
			return err
		}
	}
	return nil
}

// identify names the search and its state file by what is asked.
func (s *search) identify() error {
	if err := s.describe(); err != nil {
		return err
	}
	asked := struct {
		analysis.AskedCapacity
		Flags map[string]string
	}{s.header, map[string]string{}}
	asked.BudgetS, asked.Version = 0, "" // a search may be given more time, and go on with a later version
	for name, value := range s.Values(notAsked...) {
		asked.Flags[name] = fmt.Sprint(value)
	}
	if !s.isLive() {
		asked.Flags["catalog-model"] = s.Said.CatalogModel
	}
	if s.To.History == "answered" {
		asked.Flags["mode"] = s.Mode
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	s.called(stemOf(s.what) + "-" + hex.EncodeToString(sum[:4]))
	return nil
}

// called gives the search its name.
func (s *search) called(id string) {
	s.id = id
	s.header.SearchID, s.header.StartedAt = id, time.Now().UTC().Format(time.RFC3339)
	s.path = filepath.Join(s.Runs, id+".capacity.jsonl")
}

// notAsked are flags that do not change what is searched for: the same search goes on with others of these. What a file says counts
// elsewhere (--slo), or is not looked at (--body, --header-file, --class-environment).
var notAsked = []string{"budget", "dry-run", "fresh", "json", "quiet", "warehouse", "wait", "publish", "runs", "slo", "api-key-file", "header-file", "progress", "watch", "watch-port"}
