package send

// The verb study takes the steps of a study file one after the other. Package analysis/study reads the file and judges; this file
// measures a configuration: it rehearses it with the question of the verb capacity, searches with it on a server that runs, replays an
// experiment, or asks the warehouse for results of other tools.
//
// What was rehearsed is in the journal of the study, and in the warehouse if there is one; an experiment has a journal of its own. After a kill
// the same command goes on.
//
// Exit codes: 0 every step that was taken held; 1 one did not, or could not show it; 2 a mistake in the file; 4 anything else.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/analysis/study"
	"tidemark/analysis/tune"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/parallel"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/experiment"
	"tidemark/replay/server"
)

type studyFlags struct {
	capacityFlags
	isPrinted bool
}

func StudyCommand() *cli.Command {
	f := &studyFlags{}
	return &cli.Command{
		Name:      "study",
		Usage:     "steps with a hypothesis each, and whether each held",
		ArgsUsage: "FILE.yaml | EXAMPLE",
		Description: `Each configuration is rehearsed without a server, searched on one that runs
(base_url), replayed (experiment: FILE) or taken from imported results. Its
largest rate within the SLO is an interval over repeats on fresh traffic; where
two overlap, no difference is shown. After a kill the same command goes on. Exits 1 where a step is not
held, or nothing is shown. Built in: vllm-settings.

Example file:
  schema: tidemark.study/1
  name: seqs
  traffic: chat.yaml              # or {send: azure-conv, window: 5m}
  slo: slo.yaml                   # or objectives: [...]
  deployment: {gpu: H200, model: llama-3.1-70b, quantization: fp8}
  at: 1.5                         # requests/s at which p99 are compared
  steps:
    - {name: noise, control: true, if_refuted: stop}
    - name: sequences
      vary: [{max_num_seqs: 64}, {max_num_seqs: 128}]
      hypothesis: {metric: rate, direction: up, at_least: 5%}

Example:
  tidemark study vllm-settings`,
		Flags: f.TableFlags(append(kit.Without(f.sendingFlags(), "runs"),
			&cli.BoolFlag{Name: "print", Usage: "print a built-in study, to be changed", Destination: &f.isPrinted},
			&cli.StringFlag{Name: "runs", Usage: "keep the journal, and runs of experiments, in `DIR`", Value: "runs", Destination: &f.Runs},
			&cli.BoolFlag{Name: "restart", Usage: "begin again; the journal so far is kept under another name", Destination: &f.isFresh},
			kit.SeedFlag(&f.Seed),
		)...),
		Action: f.Do(f.run),
	}
}

func (f *studyFlags) run() error {
	path, err := f.OneArgument("study file")
	if err != nil {
		return err
	}
	if f.isPrinted {
		text, isThere := study.Example(path)
		if !isThere {
			return hint.Misuse("study: no built-in study %q", path).Hint("%s", hint.Known("study", study.Examples(), path))
		}
		return writeProduct(&f.Call, text)
	}
	if err := f.NotASnapshot(); err != nil {
		return err
	}
	file, err := study.Read(path)
	if err != nil {
		return err
	}
	if file.HasEach() {
		err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error { return file.Expand(ctx, w.DB()) })
		if err != nil {
			return err
		}
	}
	for _, step := range file.Steps { // a mistake in the last one is not to cost the hours of the others
		for _, c := range step.Configurations {
			if _, err := experimentOf(c); err != nil {
				return err
			}
		}
	}
	log, err := study.OpenLog(filepath.Join(f.Runs, file.Name+".study.jsonl"), file, f.Seed, f.isFresh, time.Now)
	if err != nil {
		return err
	}
	defer log.Close()
	s := &studying{studyFlags: f, file: file, log: log, seed: f.Seed, searches: map[int]*search{}}
	s.From, s.Until, s.length, s.by, s.replicas = file.From, file.Until, cmp.Or(file.Window, 10*time.Minute), "sessions", 1
	if err := s.model(); err != nil {
		return err
	}
	result := study.Result{Schema: study.ResultSchema, Name: file.Name, SHA256: file.SHA256, SLO: file.SLO, Traffic: file.Traffic, TrafficSum: file.TrafficSHA256, At: file.At, Band: s.band, Version: kit.Version}
	if err := s.take(&result); err != nil {
		return err
	}
	if err := s.keep(result); err != nil {
		return err
	}
	return s.say(result)
}

// studying is a study under way.
type studying struct {
	*studyFlags
	file     study.File
	log      *study.Log
	seed     uint64
	modelled map[string]modelledOf // by configuration
	band     float64               // of the baseline's server
	searches map[int]*search       // the question on each draw of the traffic
	answers  analysis.Answers
}

type modelledOf struct {
	analysis.Modelled
	usdPerHour float64
}

// model asks the catalogue for every configuration whose deployment is said.
func (s *studying) model() error {
	s.modelled = map[string]modelledOf{}
	return s.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		modeller, prices := analysis.NewModeller(w.DB()), analysis.NewPrices(w.DB(), s.file.SLO)
		for _, step := range s.file.Steps {
			for _, c := range step.Configurations {
				if c.Deployment.GPU == "" || c.Deployment.CatalogModel == "" {
					continue
				}
				m, err := modeller.Of(ctx, versioned(c.Deployment))
				if err != nil {
					return err
				}
				usd, err := prices.PerHour(ctx, m.Deployment)
				if err != nil {
					return err
				}
				if !step.IsControl { // the baseline again
					if err := s.tellRejected(ctx, w, c.Name, m.Deployment); err != nil {
						return err
					}
				}
				m.Why = cmp.Or(m.Why, tune.DoesNotStart(m.Engine))
				s.modelled[c.Name] = modelledOf{m, c.OfReplicas(usd)}
				if c.IsRehearsed() && s.band == 0 && m.Why == "" {
					if s.band, err = analysis.ServerBand(ctx, w.DB(), m.Deployment); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// take takes the steps in order, as far as if_refuted lets it.
func (s *studying) take(result *study.Result) error {
	steps := s.file.Steps
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		for _, c := range step.Configurations {
			row, err := s.row(step, c)
			if err != nil {
				return err
			}
			if len(result.Rows) > 0 {
				row.Beside(result.Rows[0])
			}
			result.Rows = append(result.Rows, row)
		}
		if step.Name == study.Baseline {
			continue
		}
		v := step.Judge(result.Rows)
		result.Verdicts = append(result.Verdicts, v)
		s.Tell("%s: %s: %s", v.Step, v.Outcome, v.Words)
		if v.Next == study.Stop {
			break
		}
		if next := slices.IndexFunc(steps, func(other study.Step) bool { return other.Name == v.Next }); next > i {
			i = next - 1
		}
	}
	result.Headline = study.Headline(result.Rows, s.file.SLO)
	return s.Context.Err()
}

// row measures one configuration.
func (s *studying) row(step study.Step, c study.Configuration) (row study.Row, err error) {
	m := s.modelled[c.Name]
	var repeats []study.Measure
	switch {
	case c.ExperimentPath != "":
		repeats, err = s.experiment(step, c, m.usdPerHour)
	case len(c.Results) > 0:
		err = s.WithWarehouse(s.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			repeats, err = study.Imported(ctx, w.DB(), c, s.file.SLO, s.file.At, m.usdPerHour)
			return err
		})
	case m.Why != "":
		repeats = []study.Measure{study.DoesNotFit(m.Why)}
	case c.BaseURL != "":
		repeats, err = s.searched(step, c, m)
	default:
		repeats, err = s.rehearsals(step, c, m)
	}
	return study.NewRow(step, c, m.Engine.KVTokens(), repeats), err
}

// rehearsals are the repeats of a configuration without a server, as many at a time as there are cores.
func (s *studying) rehearsals(step study.Step, c study.Configuration, m modelledOf) ([]study.Measure, error) {
	repeats, began := make([]study.Measure, step.Repeats), time.Now()
	var todo []func() error
	var adding sync.Mutex
	for repeat := range step.Repeats {
		at := study.Place{Configuration: c.Name, Repeat: repeat}
		measure, has := s.log.Has(at)
		if repeats[repeat] = measure; has {
			continue
		}
		drawn, err := s.drawn(step.Draw(repeat))
		if err != nil {
			return nil, err
		}
		q := drawn.question
		if why := tooLong(q, m.Deployment); why != "" {
			repeats[repeat] = study.DoesNotFit(why)
			continue
		}
		q.Twin = twinOf(m.Modelled, c.IsCached)
		q.Twin.Replicas = c.Replicas
		key, answer, isThere, err := s.earlier(q)
		if err != nil {
			return nil, err
		}
		todo = append(todo, func() (err error) {
			if !isThere {
				if answer, err = capacity.Rehearse(s.Context, q); err != nil {
					return err
				}
				adding.Lock()
				s.answers.Add(key, q, m.Deployment, drawn.header.Window, answer)
				adding.Unlock()
			}
			if repeats[repeat], err = study.OfRehearsal(s.Context, q, answer, s.file.At, m.usdPerHour); err != nil {
				return err
			}
			return s.log.Measured(at, repeats[repeat])
		})
	}
	err := parallel.Do(len(todo), func(i int) error { return todo[i]() })
	if len(todo) > 0 {
		s.Tell("%s: %s rehearsed in %s", c.Name, show.Things(len(todo), "repeat", "repeats"), show.Duration(time.Since(began).Seconds()))
	}
	return repeats, err
}

// earlier is the answer of the warehouse, if it has one.
func (s *studying) earlier(q capacity.Question) (key string, answer capacity.Answer, isThere bool, err error) {
	s.answers.Asked = analysis.AskedCapacity{Verb: "study", Source: s.file.Traffic, SLO: s.file.SLO, Version: kit.Version}
	err = s.WithWarehouseIfAny(func(ctx context.Context, w *warehouse.Warehouse) error {
		kept := analysis.Answers{Asked: s.answers.Asked}
		if w != nil {
			kept.DB, kept.IsKept = w.DB(), !w.IsOfOtherVersion()
		}
		var at *time.Time
		key, answer, at, err = kept.Earlier(ctx, q)
		isThere = at != nil
		return err
	})
	return key, answer, isThere, err
}

// drawn is the question on one draw of the traffic. A recorded trace and a plan are the same in each; what is cloned of them is drawn anew.
func (s *studying) drawn(draw int) (*search, error) {
	if s.searches[draw] != nil {
		return s.searches[draw], nil
	}
	flags := s.capacityFlags
	flags.Seed = study.Seed(s.seed, draw)
	flags.Quiet = flags.Quiet || len(s.searches) > 0 // the window is told once
	asked := &search{capacityFlags: &flags, what: s.file.Traffic, question: capacity.Question{Seed: flags.Seed, MaxScale: capacity.MostScale, Objectives: s.file.SLO.Searched()}}
	if remark := capacity.Unwaited(asked.question.Objectives); remark != "" {
		flags.Tell("%s", remark)
	}
	path, drop, err := flags.PlanFor(s.file.Traffic, nil)
	if err != nil {
		return nil, err
	}
	defer drop()
	if err := asked.readWindow(path); err != nil {
		return nil, err
	}
	s.searches[draw] = asked
	return asked, hint.AsMisuse(asked.question.Check())
}

// searched are the repeats of a configuration on a server that runs so: a search for its capacity each, as the verb capacity makes.
func (s *studying) searched(step study.Step, c study.Configuration, m modelledOf) ([]study.Measure, error) {
	repeats := make([]study.Measure, step.Repeats)
	for repeat := range repeats {
		at := study.Place{Configuration: c.Name, Repeat: repeat}
		measure, has := s.log.Has(at)
		if !has || !measure.IsAnswered() {
			var err error
			if measure, err = s.searchOnce(step.Draw(repeat), fmt.Sprintf("%s-%s-%d", s.file.Name, stemOf(c.Name), repeat+1), c, m); err != nil {
				return nil, err
			}
			if measure.IsAnswered() {
				err = s.log.Measured(at, measure)
			} else {
				s.Tell("%s: repeat %d has no answer: %s; the same command measures it again", c.Name, repeat+1, measure.Why)
			}
			if err != nil {
				return nil, err
			}
		}
		repeats[repeat] = measure
	}
	return repeats, nil
}

// searchOnce is one search, or the rest of one that a kill has ended: its state is in a file of its own.
func (s *studying) searchOnce(draw int, id string, c study.Configuration, m modelledOf) (measure study.Measure, err error) {
	drawn, err := s.drawn(draw)
	if err != nil {
		return measure, err
	}
	if ignored := server.Ignored(c.Asked(), server.Command{BaseURL: c.BaseURL}.Settings(s.Context)); len(ignored) > 0 {
		return measure, hint.Errorf("study: %s: the server at %s runs otherwise: %s", c.Name, c.BaseURL, strings.Join(ignored, "; ")).Hint("start it with these settings, and give the same command again")
	}
	one, flags := *drawn, *drawn.capacityFlags
	one.capacityFlags, one.named = &flags, m.Deployment
	flags.Quiet = s.Quiet
	flags.BaseURLs, flags.To.Model, flags.SLO = *cli.NewStringSlice(c.BaseURL), s.file.Model, s.file.SLOPath
	q := &one.question
	q.Twin = twinOf(m.Modelled, c.IsCached)
	q.Twin.AreSettingsCertain = false // a server says itself what it runs with
	q.Budget, q.Precision, q.MaxLatenessS = s.file.Load, tune.Precision, flags.To.MaxLateness.Seconds()
	one.header.SLO, one.header.Precision = s.file.SLO, tune.Precision
	if err := one.describe(); err != nil {
		return measure, err
	}
	one.header.Verb = s.Verb
	one.called(id)
	state, events, err := live.OpenState(one.path, &one.header, s.isFresh)
	if err != nil {
		return measure, err
	}
	defer state.Close()
	one.state, one.earlier = state, live.Resumable(events, q.MaxLatenessS)
	q.Budget += live.BrokenOff(one.earlier) // a configuration is not judged by less load than others because of a kill
	s.Tell("%s: a search at %s", id, c.BaseURL)
	answer := live.Answered(events)
	if answer == nil {
		found, err := one.onServer()
		if err != nil {
			return measure, err
		}
		answer = &found
	}
	if err := one.takeIn(); err != nil {
		s.Tell("the search in %s was not ingested: %v", one.path, err)
	}
	measure, err = study.OfRehearsal(s.Context, *q, *answer, 0, m.usdPerHour)
	measure.Origin = one.header.Origin
	if measure.Low > 0 && err == nil {
		measure.PerJ, err = perJoule(&s.Call, id, measure.Low, measure.Rate)
	}
	return measure, err
}

// perJoule is output tokens per joule of a search that found this rate, or no limit above the low end, where a warehouse is there and has the power.
func perJoule(c *kit.Call, searchID string, low float64, rate *float64) (perJoule *float64, err error) {
	if rate != nil {
		low = *rate
	}
	err = c.WithWarehouseIfAny(func(ctx context.Context, w *warehouse.Warehouse) error {
		if w != nil {
			perJoule, err = study.PerJouleOf(ctx, w.DB(), searchID, low)
		}
		return err
	})
	if errors.Is(err, warehouse.ErrHeld) { // the runs are not there either
		return nil, nil
	}
	return perJoule, err
}

// experimentOf reads a configuration's experiment, if it has one.
func experimentOf(c study.Configuration) (file experiment.File, err error) {
	if c.ExperimentPath == "" {
		return file, nil
	}
	if file, err = experiment.Read(c.ExperimentPath); err != nil {
		return file, hint.AsMisuse(err)
	}
	if file.Variable != "request-rate" {
		return file, hint.Misuse("study: %s: the experiment varies %q", c.ExperimentPath, file.Variable).Hint("a study wants variable: request-rate")
	}
	return file, nil
}

// experiment replays an experiment over request rates, or goes on with it.
func (s *studying) experiment(step study.Step, c study.Configuration, usdPerHour float64) (repeats []study.Measure, err error) {
	file, err := experimentOf(c)
	if err != nil {
		return nil, err
	}
	file.Name, file.SLO, file.Repeats = s.file.Name+"-"+stemOf(c.Name), s.file.SLOPath, step.Repeats
	file.Override(map[string]any{"seed": study.Seed(s.seed, step.Draw(0))}) // all configurations share their draws
	p := player{Call: &s.Call, runs: s.Runs, file: file, isFresh: s.isFresh}
	seriesID, done, err := p.rows(filepath.Join(s.Runs, file.Name+".experiment.jsonl"))
	if err := p.withLeft(err, done); err != nil {
		return nil, err
	}
	err = s.WithWarehouse(s.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		repeats, err = study.OfExperiment(ctx, w.DB(), seriesID, s.file.SLO, s.file.At, usdPerHour)
		return err
	})
	return repeats, err
}

// keep puts the study, and what it rehearsed, into the warehouse if there is one.
func (s *studying) keep(result study.Result) error {
	return keepResult(&s.Call, func(ctx context.Context, w *warehouse.Warehouse) error {
		return errors.Join(s.answers.Keep(ctx, w), result.Keep(ctx, w, s.file, time.Now()))
	})
}

// keepResult calls keep with the warehouse, if there is one and no other process holds it.
func keepResult(c *kit.Call, keep func(context.Context, *warehouse.Warehouse) error) error {
	if _, err := os.Stat(c.Warehouse); err != nil {
		return nil
	}
	err := c.WithWarehouse(c.Context, warehouse.ReadWrite, keep)
	if errors.Is(err, warehouse.ErrHeld) {
		c.Tell("%v; the result is not in the warehouse: the same command keeps it", err)
		return nil
	}
	return err
}

// say prints the result.
func (s *studying) say(result study.Result) error {
	switch {
	case s.JSON:
		text, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(terminal.Product(s.App.Writer), string(text))
	case s.CSV:
		if err := s.PrintTable(result.Table()); err != nil {
			return err
		}
	default:
		if err := s.print(result); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(result.Verdicts, func(v study.Verdict) bool { return v.Outcome != study.Held }) {
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return nil
}
