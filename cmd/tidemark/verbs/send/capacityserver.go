package send

// A search on a server: what is sent before it is asked about, its probes, and where it is kept.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/ingest"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/watch"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// measureSteps makes a twin of a server of which nothing is known.
func (s *search) measureSteps() error {
	prompt, longest := s.question.Lengths()
	s.Tell("no GPU is named: about forty small requests show how long steps take")
	steps, said, err := s.server.MeasureSteps(s.Context, prompt)
	if err != nil {
		return err
	}
	s.Tell("a step takes about %s, %s more for each sequence, and %s for a thousand tokens of prompt", show.Duration(steps.Base), show.Duration(steps.Sequence), show.Duration(1000*steps.Prompt))
	s.question.Twin.Engine = live.Engine(said, longest)
	s.question.Twin.StepTime = capacity.ShiftedSteps(steps.Time)
	return nil
}

// tellLoad says before the first request what may be sent.
func (s *search) tellLoad(predicted capacity.Answer) {
	word := "no limit is predicted"
	if predicted.Scale != nil {
		word = fmt.Sprintf("predicted: %s times", show.Figures(*predicted.Scale))
		if predicted.RatePerS != nil {
			word += fmt.Sprintf(", %s requests/s", show.Figures(*predicted.RatePerS))
		}
	}
	load := s.question.LoadAt(predicted, s.header.Window.RatePerS)
	s.Tell("%s; may send load for %s in about %d runs: near that limit %s requests with %s tokens, to %s", word, loadTime(60*load.Minutes),
		load.Runs, show.Figures(load.Requests), show.Figures(load.Tokens), strings.Join(s.header.BaseURLs, ", "))
}

// checkLength asks the servers whether they hold a request of so many tokens. A dry run need not reach them.
func (s *search) checkLength(longest int) error {
	err := replay.CheckLength(s.Context, s.server.Settings, longest)
	if s.isDry && errors.Is(err, replay.ErrNoAnswer) {
		s.Tell("whether the servers take a request of %s could not be asked: %s", show.Things(longest, "token", "tokens"), strings.TrimPrefix(err.Error(), "replay: "))
		return nil
	}
	return err
}

// endDry ends a dry run of a search on a server with what the servers say of its longest request.
func (s *search) endDry() error {
	if !s.isLive() {
		return nil
	}
	_, longest := s.question.Lengths()
	return s.checkLength(longest)
}

// onServer searches with probes.
func (s *search) onServer() (capacity.Answer, error) {
	if slices.ContainsFunc(s.earlier, func(e capacity.Event) bool { return e.Kind == "run" }) {
		s.Tell("going on with the search in %s", s.path)
	}
	s.server.NewID = func() string { return newRunID(s.id) }
	closed, err := s.open(&s.Call)
	if err != nil {
		return capacity.Answer{}, err
	}
	defer closed()
	end := func() {}
	s.server.Begins = func(p capacity.Probe, runID string) {
		rate := ""
		if perS := p.RatePerS(); perS > 0 {
			rate = fmt.Sprintf(", %s a second", show.Figures(perS))
		}
		s.Tell("run %d (%s): %s times for %s, %d requests%s", p.Number, p.Why, show.Figures(p.Scale), show.Duration(p.Length.Seconds()), len(p.Requests), rate)
		settings := &s.server.Settings
		settings.Mode = p.Mode
		title := fmt.Sprintf("Run %d of a search: %s times %s", p.Number, show.Figures(p.Scale), s.what)
		// The SLO was read before, so that there is no error.
		end, _ = s.follow(&s.Call, settings, title, func() watch.Asked { return watch.AskedBy(p.Mode, plan.Each(p.Requests)) })
	}
	s.server.Ended = func(ctx context.Context, folder, runID string) error {
		end()
		if _, err := s.IngestRun(context.WithoutCancel(ctx), s.Wait, folder, runID); err != nil {
			s.Tell("%v", err) // its folder stays, and the search does not need the warehouse
		}
		return nil
	}
	if program := s.before; program != "" {
		s.server.Before = func(ctx context.Context, scale float64) error { return before(ctx, &s.Call, program, scale) }
	}
	var told sync.Map // each run finds the same
	s.server.Settings.Tell = func(text string) {
		if _, isTold := told.LoadOrStore(text, true); !isTold {
			s.Tell("%s", text)
		}
	}
	isSimulated, err := s.server.IsSimulated(s.Context)
	if err != nil {
		return capacity.Answer{}, err
	}
	if isSimulated {
		s.header.Origin = "simulated"
	}
	silent := context.AfterFunc(s.Context, func() {
		s.Tell("stopping: open streams may finish; the same command goes on with this search; Ctrl-C again ends at once")
	})
	defer silent()
	return capacity.Search(s.Context, s.question, s.server, s.earlier, func(e capacity.Event) error {
		if e.Kind == "run" {
			text := fmt.Sprintf("run %d: %s", e.Run.Number, verdictInWords(e.Run.Verdict))
			s.Tell("%s", text)
			if s.page != nil {
				s.page.Say(text)
			}
		}
		return s.state.Write(e)
	})
}

// before runs the user's program, whose output is shown.
func before(ctx context.Context, c *kit.Call, program string, scale float64) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("TIDEMARK_SCALE=%v", scale))
	cmd.Stdout, cmd.Stderr = c.Messages(), c.Messages()
	if err := cmd.Run(); err != nil {
		return hint.Errorf("capacity: --before %s: %w", program, err).Hint("run it by itself and look at what it says")
	}
	return nil
}

// openRehearsed opens the file of a search without a server, which holds an earlier answer to the same question or nothing.
func (s *search) openRehearsed() (*live.State, error) {
	state, _, err := live.OpenState(s.path, &analysis.AskedCapacity{SearchID: s.id}, false)
	if err == nil {
		state.Header = &s.header
	}
	return state, err
}

// writeRehearsed writes the answer in the place of the earlier one.
func (s *search) writeRehearsed(answer capacity.Answer) error {
	state, err := s.openRehearsed()
	if err != nil {
		return err
	}
	defer state.Close()
	state.Replace()
	return state.Write(capacity.Event{Question: s.id, Kind: "answer", Answer: &answer})
}

// takeIn keeps the search in the warehouse, where there is one.
func (s *search) takeIn() error {
	if _, err := os.Stat(s.Warehouse); err != nil && !s.isLive() {
		return nil
	}
	err := s.WithWarehouse(context.WithoutCancel(s.Context), warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		_, err := ingest.Load(ctx, w, []string{s.path}, ingest.Options{})
		return err
	})
	if errors.Is(err, warehouse.ErrHeld) {
		s.Tell("%v; the answer is in %s: tidemark ingest %s", err, s.path, escape.Shell(s.path))
		return nil
	}
	return err
}
