package send

// The verb tune ranks the configurations of a server for recorded traffic within an SLO. Package analysis/tune reads the file and ranks;
// this file gives it the question that the verb capacity asks of each candidate, so that both say one number, and prints. Where the file says
// how a server is started, tuneserver.go measures the best of them.
//
// Exit codes: 0; 1 no candidate keeps the SLO at any load; 2 a mistake in the file; 3 no start served; 4 anything else.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/study"
	"tidemark/analysis/tune"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type tuneFlags struct {
	capacityFlags
	isAll, isRehearsed, isFresh bool
}

func TuneCommand() *cli.Command {
	f := &tuneFlags{}
	return &cli.Command{
		Name:      "tune",
		Usage:     "which settings of a server take the most traffic within an SLO",
		ArgsUsage: "FILE.yaml",
		Description: `Ranks every combination of values by rehearsal, as "tidemark capacity" does
without a server: what to set, its cost, what does not fit, what binds. With
server in the file, the baseline and the best are then started and measured, and
what is beaten is dropped; after a kill the same command goes on. Exits 1 where
no candidate keeps the SLO, 3 where no start served.

Example file:
  schema: tidemark.tune/1
  name: chat
  traffic: azure-conv              # or {send: azure-conv, from: +10m, until: +20m}
  slo: slo.yaml
  deployment: {gpu: H100, model: llama-3.1-8b}
  space:
    max_num_seqs: [64, 128, 256]
    max_num_batched_tokens: [2048, 8192]
  constraints: ["max_num_batched_tokens >= max_num_seqs"]
  server: {start: [./serve.sh, "{flags}"], base_url: "http://127.0.0.1:8000",
    model: llama}                  # optional: measure
  budget: {load: 2h, starts: 20}

Example:
  tidemark tune chat.yaml`,
		Flags: f.WarehouseFlags(slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "rehearsed", Usage: "rank by rehearsal alone: start no server", Destination: &f.isRehearsed},
			&cli.BoolFlag{Name: "all", Usage: "list every candidate, those that are rejected with the reason", Destination: &f.isAll},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object", Destination: &f.JSON},
			&cli.BoolFlag{Name: "restart", Usage: "measure again; the journal so far is kept under another name", Destination: &f.isFresh},
			kit.SeedFlag(&f.Seed),
		}, f.sendingFlags())...),
		Action: f.Do(f.run),
	}
}

// sendingFlags are how requests are sent, where a file says to whom and what.
func (f *capacityFlags) sendingFlags() []cli.Flag {
	return kit.Without(f.Target.Flags(), "base-url", "route", "class-environment", "model", "max-concurrency", "history", "cache", "body", "warm-up", "slo", "name", "note", "on-dead")
}

func (f *tuneFlags) run() error {
	path, err := f.OneArgument("tune file")
	if err != nil {
		return err
	}
	file, err := tune.Read(path)
	if err != nil {
		return err
	}
	if err := file.CheckRanges(f.isRehearsed); err != nil {
		return err
	}
	candidates, err := file.Candidates()
	if err != nil {
		return err
	}
	asked, err := f.read(file, candidates)
	if err != nil {
		return err
	}
	var t *tuning
	if file.Server != nil && !f.isRehearsed {
		if t, err = f.prepare(file, asked); err != nil { // what stands in the way of a start is said before minutes of rehearsal
			return err
		}
		defer t.log.Close()
	}
	if file.HasRanges() {
		if err := t.findRanges(); err != nil {
			return err
		}
		file = t.file
		if candidates, err = file.Candidates(); err != nil {
			return err
		}
		isQuiet := f.Quiet
		f.Quiet = true // the window is told once
		if asked, err = f.read(file, candidates); err != nil {
			return err
		}
		f.Quiet, t.asked = isQuiet, asked
	}
	began := time.Now()
	rows, err := f.rank(file, candidates, asked)
	if err != nil {
		return err
	}
	f.Tell("%s ranked in %s; nothing was sent", show.Things(len(candidates), "candidate", "candidates"), show.Duration(time.Since(began).Seconds()))
	if t == nil || !slices.ContainsFunc(rows, func(r tune.Row) bool { return r.IsKnee }) {
		return f.say(file, rows)
	}
	return t.run(rows)
}

// asked is what is asked of the candidates.
type asked struct {
	base       *search             // the question that is the same for all
	modelled   []analysis.Modelled // engines, in the order of the candidates
	usdPerHour []float64
}

func twinOf(m analysis.Modelled, isCached bool) capacity.Twin {
	twin := analysis.RehearsedTwin(m.Engine, m.Deployment)
	twin.Engine.EnablePrefixCaching = isCached
	return twin
}

// tooLong is why a deployment cannot serve the traffic at all: it refuses its longest request, and would look fast without it.
func tooLong(q capacity.Question, d deployment.Deployment) string {
	longest := 0
	for _, r := range q.Window {
		longest = max(longest, r.InputTokens+r.OutputTokens)
	}
	if d.MaxModelLen > 0 && longest > d.MaxModelLen {
		return fmt.Sprintf("refuses requests: the longest has %d tokens, and max_model_len is %d", longest, d.MaxModelLen)
	}
	return ""
}

// read reads the traffic and asks the catalogue while the warehouse is open once.
func (f *tuneFlags) read(file tune.File, candidates []tune.Candidate) (a asked, err error) {
	slo, err := analysis.ReadSLO(file.SLO)
	if err != nil {
		return a, hint.AsMisuse(err)
	}
	f.From, f.Until, f.length, f.by, f.replicas = file.From, file.Until, cmp.Or(file.Window, 10*time.Minute), "sessions", 1
	s := &search{capacityFlags: &f.capacityFlags, what: file.Traffic, question: capacity.Question{Seed: f.Seed, MaxScale: capacity.MostScale, Objectives: slo.Searched()}}
	s.header.SLO = slo
	if remark := capacity.Unwaited(s.question.Objectives); remark != "" {
		f.Tell("%s", remark)
	}
	a = asked{base: s, modelled: make([]analysis.Modelled, len(candidates))}
	path, drop, err := f.PlanFor(file.Traffic, func(ctx context.Context, w *warehouse.Warehouse) error {
		modeller := analysis.NewModeller(w.DB())
		prices := analysis.NewPrices(w.DB(), slo)
		for i, c := range candidates {
			a.modelled[i], err = modeller.Of(ctx, versioned(c.Deployment))
			if err != nil && !c.IsBaseline && ctx.Err() == nil && hint.Of(err) != "" { // the baseline is possible, and this candidate is not
				a.modelled[i], err = analysis.Modelled{Deployment: c.Deployment, Why: "cannot be: " + strings.TrimPrefix(err.Error(), "deployment: ")}, nil
			}
			if err != nil {
				return err
			}
			usd, err := prices.PerHour(ctx, a.modelled[i].Deployment)
			if err != nil {
				return err
			}
			a.usdPerHour = append(a.usdPerHour, usd)
		}
		return nil
	})
	if err != nil {
		return a, err
	}
	defer drop()
	if err := s.readWindow(path); err != nil {
		return a, err
	}
	return a, hint.AsMisuse(s.question.Check())
}

// rank is stage one.
func (f *tuneFlags) rank(file tune.File, candidates []tune.Candidate, a asked) ([]tune.Row, error) {
	return file.Rehearse(f.Context, candidates, func(i int, c *tune.Candidate) (tune.Modelled, error) {
		m := a.modelled[i]
		c.Deployment = m.Deployment
		q := a.base.question
		if why := cmp.Or(m.Why, tooLong(q, m.Deployment)); why != "" {
			return tune.Modelled{Why: why, USDPerHour: a.usdPerHour[i]}, nil
		}
		q.Twin = twinOf(m, c.IsCached)
		return tune.Modelled{Question: q, USDPerHour: a.usdPerHour[i]}, nil
	}, f.bands, f.progress())
}

// progress is a line every five seconds at most: a large space takes minutes.
func (f *tuneFlags) progress() tune.Told {
	last := time.Now()
	return func(doing string, done, of int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			f.Tell("%s: %d of %d", doing, done, of)
		}
	}
}

// bands are how far real servers of these candidates may be from the model. Which of them somebody has rejected before is said on the way.
func (f *tuneFlags) bands(chosen []tune.Candidate) (bands []float64, err error) {
	err = f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		for _, c := range chosen {
			band, err := analysis.ServerBand(ctx, w.DB(), c.Deployment)
			if err != nil {
				return err
			}
			bands = append(bands, band)
			if err := f.tellRejected(ctx, w, c.Label(), c.Deployment); err != nil {
				return err
			}
		}
		return nil
	})
	return bands, err
}

// tellRejected says of a configuration that was rejected before who did that, and why.
func (f *capacityFlags) tellRejected(ctx context.Context, w *warehouse.Warehouse, label string, d deployment.Deployment) error {
	said, err := analysis.RejectedDeployment(ctx, w.DB(), d)
	if said != "" {
		f.Tell("%s: %s", label, said)
	}
	return err
}

// versioned is a deployment of the version that simulate and rehearsals take where none is named.
func versioned(d deployment.Deployment) deployment.Deployment {
	d.EngineVersion = cmp.Or(d.EngineVersion, simulatedVersion)
	return d
}

// tuned is the whole answer for a program.
type tuned struct {
	Name     string     `json:"name"`
	Origin   string     `json:"origin"`
	Set      []string   `json:"set"` // flags of the knee; empty: nothing keeps the SLO
	Rejected []rejected `json:"rejected"`
	Rows     []tunedRow `json:"candidates"`
	*raced              // nothing was started: left out
}

type rejected struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

type tunedRow struct {
	Settings     map[string]string `json:"settings"`
	Flags        []string          `json:"flags"`
	IsBaseline   bool              `json:"is_baseline"`
	Why          string            `json:"rejected_why,omitempty"`
	ShortPerS    float64           `json:"short_rate_per_s"`
	Class        int               `json:"class"` // those of one class cannot be told apart by the engine
	USDPerMToken *float64          `json:"usd_per_million_accepted"`
	IsOnFront    bool              `json:"is_on_front"`
	IsKnee       bool              `json:"is_knee"`
	Answer       *capacity.Answer  `json:"capacity"` // null: not near the best
}

func (f *tuneFlags) say(file tune.File, rows []tune.Row) error {
	knee := slices.IndexFunc(rows, func(r tune.Row) bool { return r.IsKnee })
	counts := tune.Rejected(rows)
	said := noneKeeps
	if knee >= 0 {
		said = f.advice(rows, knee)
	}
	if err := f.keep(file, rows, nil, "rehearsed", said); err != nil {
		return err
	}
	if f.JSON {
		out := forPrograms(file, rows)
		if knee >= 0 {
			out.Set = rows[knee].Flags()
		}
		if err := f.printJSON(out); err != nil {
			return err
		}
		return tuneExit(knee)
	}
	if err := f.PrintForms(f.forms(rows)...); err != nil {
		return err
	}
	f.Gap()
	for _, c := range counts {
		f.Remark("rejected: %s", fmt.Sprintf("%d %s", c.Count, c.Why))
	}
	if beyond := tune.Beyond(rows); beyond > 0 && !f.isAll {
		f.Remark("%s, by a short rehearsal of the busiest minute; --all lists them.", show.Things(beyond, "candidate takes less", "candidates take less"))
	}
	f.Remark("%s", said)
	return tuneExit(knee)
}

const noneKeeps = "No candidate keeps the SLO at any load."

// keep puts what was found into the warehouse, where it is shown beside studies.
func (f *tuneFlags) keep(file tune.File, rows []tune.Row, measured []tune.Finisher, origin, said string) error {
	return keepResult(&f.Call, func(ctx context.Context, w *warehouse.Warehouse) error {
		slo, err := analysis.ReadSLO(file.SLO)
		if err != nil {
			return err
		}
		return study.OfTuning(file, slo, rows, measured, origin, said, kit.Version).Keep(ctx, w, study.File{Asked: file.Asked}, time.Now())
	})
}

// forPrograms is stage one without what to set.
func forPrograms(file tune.File, rows []tune.Row) tuned {
	out := tuned{Name: file.Name, Origin: "rehearsed", Set: []string{}}
	for _, c := range tune.Rejected(rows) {
		out.Rejected = append(out.Rejected, rejected{c.Why, c.Count})
	}
	for _, r := range rows {
		out.Rows = append(out.Rows, tunedRow{r.Settings(), r.Flags(), r.IsBaseline, r.Why, r.Short, r.Class, r.USDPerMillion, r.IsOnFront, r.IsKnee, r.Full})
	}
	return out
}

func (f *tuneFlags) printJSON(out tuned) error {
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintln(terminal.Product(f.App.Writer), string(text))
	return nil
}

// advice is what to set, and against what.
func (f *tuneFlags) advice(rows []tune.Row, knee int) string {
	best, base := rows[knee], rows[0]
	text := "keep the deployment as it is"
	if flags := strings.Join(best.Flags(), " "); !best.IsBaseline && flags != "" {
		text = "set: " + flags
	}
	text += fmt.Sprintf("; %s requests/s", show.Figures(best.RatePerS))
	if base.Full != nil && base.RatePerS > 0 && !best.IsBaseline {
		text += fmt.Sprintf(", %s as the deployment is", show.Figures(base.RatePerS))
	}
	return text + "; rehearsed, nothing was sent."
}

func tuneExit(knee int) error {
	if knee < 0 {
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return nil
}

// forms are the candidates that were rehearsed in full, one row for each class, or with --all every candidate; the widest form first.
func (f *tuneFlags) forms(rows []tune.Row) []analysis.Table {
	full := kit.TableOf("settings", "requests/s", "90 %", "$/M accepted", "binds", "alike", "")
	short := kit.TableOf("settings", "/s", "90 %", "$/M", "binds", "")
	narrow := kit.TableOf("settings", "/s", "$/M", "binds")
	least := kit.TableOf("settings", "/s", "$/M")
	for _, r := range tune.Listed(rows, f.isAll) {
		rate, interval, binds, usd := figuresOf(r.Row)
		label, mark := r.Label(), markOf(r.Row)
		full.Rows = append(full.Rows, []any{label, tables.Figure(rate), tables.Figure(interval), tables.Figure(usd), binds, r.Alike, mark})
		short.Rows = append(short.Rows, []any{label, tables.Figure(rate), tables.Figure(interval), tables.Figure(usd), binds, mark})
		narrow.Rows = append(narrow.Rows, []any{label, tables.Figure(rate), tables.Figure(usd), cmp.Or(mark, binds)})
		least.Rows = append(least.Rows, []any{label, tables.Figure(rate), tables.Figure(usd)})
	}
	return []analysis.Table{full, short, narrow, least}
}

func markOf(r tune.Row) string {
	var marks []string
	if r.IsBaseline {
		marks = append(marks, "baseline")
	}
	switch {
	case r.IsKnee:
		marks = append(marks, "set")
	case r.IsOnFront:
		marks = append(marks, "front")
	}
	return strings.Join(marks, ", ")
}

// figuresOf is the figures of a row as they are printed.
func figuresOf(r tune.Row) (rate, interval, binds, usd string) {
	if r.USDPerMillion != nil {
		usd = show.Figures(*r.USDPerMillion)
	}
	switch {
	case r.Why != "":
		return "", "", r.Why, usd
	case r.Full == nil:
		return "~" + show.Figures(r.Short), "", "", usd
	}
	a := r.Full
	rate = show.Figures(r.RatePerS)
	switch low, high := a.RateLowPerS, a.RateHighPerS; {
	case low != nil && high != nil:
		interval = show.Figures(*low) + " to " + show.Figures(*high)
	case low != nil:
		interval = "at least " + show.Figures(*low)
	case high != nil:
		interval = "at most " + show.Figures(*high)
	}
	if a.BindingObjective != nil {
		binds = strings.TrimSuffix(strings.ReplaceAll(*a.BindingObjective, "_", " "), " from due")
	}
	if a.Outcome != capacity.Found {
		binds = strings.ReplaceAll(a.Outcome, "_", " ") + ": " + binds
	}
	return rate, interval, binds, usd
}
