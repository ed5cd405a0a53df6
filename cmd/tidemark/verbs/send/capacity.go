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
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/internal/cli/kit"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type capacityFlags struct {
	Planning
	kit.Target
	kit.Deployment
	watching
	length, budget                 time.Duration
	by, precision, before, routing string
	minScale, maxScale             float64
	isUnconfirmed, isDry, isFresh  bool
	isCalibrated                   bool
	replicas                       int
}

// isLive says that servers are asked, and not the model alone.
func (f *capacityFlags) isLive() bool { return len(f.BaseURLs.Value()) > 0 }

func CapacityCommand() *cli.Command {
	f := &capacityFlags{}
	choices := kit.Without(f.Choices.Flags(), "without-class", "speed", "thin", "thicken", "request-rate", "limit", "duration")
	target := kit.Without(f.Target.Flags(), "warm-up", "name", "note", "on-dead")
	return &cli.Command{
		Name:      "capacity",
		Usage:     "how many times this traffic a server handles within an SLO",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Sends a few short runs, each at a multiple of the recorded traffic, and fits a
model of the server to them. The answer is for the window of traffic that is
asked about. Without --base-url the model alone answers, in seconds. With
--calibrate three minutes of bursts come first, and the model is fitted to
them. The search keeps its state in a file: the same command goes on after a
kill. Exits 1 where no limit was found within --budget.

Example:
  tidemark capacity azure-conv --slo slo.yaml --gpu H100 --catalog-model llama-3.1-8b
  tidemark capacity azure-conv --slo slo.yaml --from +10m --until +20m \
    --base-url http://gpu1:8000 --model llama --gpu H100 \
    --catalog-model llama-3.1-8b`,
		Flags: f.WarehouseFlags(slices.Concat([]cli.Flag{
			WindowFlag(&f.length),
			&cli.StringFlag{Name: "by", Usage: "make more traffic of whole `sessions`, or by speed", Value: "sessions", Destination: &f.by, Action: kit.OneOf("by", "sessions", "speed")},
			&cli.DurationFlag{Name: "budget", Usage: "send load for `30m` at most, all runs together", Value: 30 * time.Minute, Destination: &f.budget, Action: aSecond("budget")},
			&cli.StringFlag{Name: "precision", Usage: "stop when the interval is within `5%` of the answer", Value: "5%", Destination: &f.precision},
			&cli.Float64Flag{Name: "min-scale", Usage: "the smallest `MULTIPLE` to try; of a closed loop the concurrency", Destination: &f.minScale},
			&cli.Float64Flag{Name: "max-scale", Usage: "the largest `MULTIPLE` to try", Destination: &f.maxScale},
			&cli.BoolFlag{Name: "no-confirm", Usage: "without a last run at the low end of the interval", Destination: &f.isUnconfirmed},
			&cli.BoolFlag{Name: "calibrate", Usage: "fit the model's constants to the server first, by at most three minutes of bursts beside --budget, and keep them", Destination: &f.isCalibrated},
			&cli.StringFlag{Name: "before", Usage: "run `PROGRAM` before each run, with $TIDEMARK_SCALE set: to restart a server, say", Destination: &f.before},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be sent, and stop", Destination: &f.isDry},
			&cli.BoolFlag{Name: "fresh", Usage: "begin again, whatever an earlier search has left", Destination: &f.isFresh},
			&cli.IntFlag{Name: "replicas", Usage: "without --base-url: `N` servers share the traffic", Value: 1, Destination: &f.replicas, Action: kit.AtLeastOne[int]("replicas")},
			&cli.StringFlag{Name: "routing", Usage: "without --base-url: they share it in `turns`, least-loaded, or by prefix", Value: rehearsal.Turns, Destination: &f.routing, Action: kit.OneOf("routing", rehearsal.Routings...)},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object", Destination: &f.JSON},
		}, choices, target, f.watching.flags(), f.ServedFlags(choices...))...),
		Action: f.Do(f.run),
	}
}

func (f *capacityFlags) run() error {
	what, err := f.OneArgument("source, profile or plan")
	if err != nil {
		return err
	}
	read := f.tellWhile("reading " + what)
	s, err := newSearch(f, what)
	read()
	if err != nil {
		return err
	}
	if s.isLive() && !f.isDry {
		answer, err := s.goOn()
		if err != nil {
			return err
		}
		defer s.state.Close()
		if answer != nil {
			f.Tell("this search has its answer already, in %s; --fresh searches again", s.path)
			return s.finish(*answer)
		}
		tellFaults(&s.Call, s.Runs)
	} else if !f.isDry { // what is another's is refused before the rehearsal
		state, err := s.openRehearsed()
		if err != nil {
			return err
		}
		state.Close()
	}
	if s.question.Twin.StepTime == nil {
		if f.isDry {
			f.Tell("no GPU is named: a few dozen small requests would show how long steps take, and then what may be sent")
			return s.endDry()
		}
		if err := s.measureSteps(); err != nil {
			return err
		}
	}
	if f.isCalibrated && len(s.earlier) == 0 { // with earlier runs it was calibrated before them
		if err := s.calibrate(); err != nil {
			return err
		}
	}
	if s.header.Calibration != "" {
		s.question.Remarks = append(s.question.Remarks, s.header.Calibration)
	}
	began := time.Now()
	rehearsed := f.tellWhile(fmt.Sprintf("rehearsing the window's %s at one multiple after another", show.Things(len(s.question.Window), "request", "requests")))
	predicted, at, err := s.rehearse()
	rehearsed()
	if err != nil {
		return err
	}
	if s.isLive() {
		s.tellLoad(predicted)
	}
	if f.isDry {
		return s.endDry()
	}
	answer := predicted
	if s.isLive() {
		answer, err = s.onServer()
	} else {
		if at != nil {
			f.Tell("as rehearsed at %s; nothing was sent", show.Instant(at.UTC()))
		} else {
			f.Tell("rehearsed in %s; nothing was sent", show.Duration(time.Since(began).Seconds()))
		}
		err = s.writeRehearsed(answer)
	}
	if err != nil {
		return err
	}
	return s.finish(answer)
}

// goOn opens the file of a search on a server and goes on from there; where it has ended, it has its answer.
func (s *search) goOn() (answer *capacity.Answer, err error) {
	state, events, err := live.OpenState(s.path, &s.header, s.isFresh)
	if err != nil {
		return nil, err
	}
	s.state, s.earlier = state, live.Resumable(events, s.question.MaxLatenessS)
	return live.Answered(events), nil
}

// rehearse is the answer of the model alone. at is when it was given before; nil: it is new.
func (s *search) rehearse() (answer capacity.Answer, at *time.Time, err error) {
	if !s.isLive() {
		err = s.WithWarehouseIfAny(func(ctx context.Context, w *warehouse.Warehouse) (err error) {
			answers := analysis.Answers{Asked: s.header}
			if w != nil {
				answers.DB, answers.IsKept = w.DB(), !w.IsOfOtherVersion()
			}
			s.header.AnswerKey, answer, at, err = answers.Earlier(ctx, s.question)
			return err
		})
	}
	if err != nil || at != nil {
		return answer, at, err
	}
	answer, err = capacity.Rehearse(s.Context, s.question)
	return answer, nil, err
}

// tellWhile says every five seconds that a step still goes on, until end is called.
func (f *capacityFlags) tellWhile(step string) (end func()) {
	began, done := time.Now(), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f.Tell("%s: %s so far", step, show.Duration(time.Since(began).Round(time.Second).Seconds()))
			}
		}
	})
	return func() { close(done); telling.Wait() }
}

// finish keeps the search in the warehouse and prints its answer, also where it cannot be kept.
func (s *search) finish(answer capacity.Answer) error {
	notTaken := s.takeIn()
	if err := s.say(answer); notTaken == nil {
		return err
	}
	return hint.Errorf("the answer in %s was not ingested: %w", s.path, notTaken).Hint("tidemark ingest %s%s", escape.Shell(s.path), s.WarehouseWords())
}
