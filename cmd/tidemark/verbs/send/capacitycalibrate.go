package send

// A search that begins with a calibration: the constants of the server, and not those of its kind, make the twin.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// calibrate sends the workload that was made for the deployment, keeps the constants that it tells, and makes the twin anew.
func (s *search) calibrate() error {
	requests, takes, err := s.cost.CalibrationPlan(s.Context, analysis.LongestCalibration)
	if err != nil {
		return err
	}
	others := ""
	if len(s.header.BaseURLs) > 1 {
		others = "; the other servers are taken to be like it"
	}
	s.Tell("calibration: %s in %s, to %s%s", show.Things(len(requests), "request", "requests"), show.Duration(takes.Round(time.Second).Seconds()), s.header.BaseURLs[0], others)
	longest := 0
	for _, r := range requests {
		longest = max(longest, r.InputTokens+r.OutputTokens)
	}
	if err := s.checkLength(longest); errors.Is(err, replay.ErrTooLong) {
		return hint.Errorf("capacity: --calibrate: %w", err).Hint("name the server's length with --max-model-len: its requests are no longer than that")
	} else if err != nil || s.isDry {
		return err
	}
	isSimulated, err := s.server.IsSimulated(s.Context)
	if err != nil {
		return err
	}
	if isSimulated {
		return hint.Errorf("capacity: --calibrate: %s is a simulated server", s.header.BaseURLs[0]).
			Hint("a simulator answers as the model predicts: leave --calibrate out")
	}
	c, err := s.fitCalibration(requests)
	if err != nil {
		return hint.Errorf("capacity: --calibrate: %w", err).Hint("%s", cmp.Or(hint.Of(err), "mend that, or search without --calibrate"))
	}
	for _, warning := range c.Warnings {
		s.Tell("calibration: warning: %s", warning)
	}
	s.header.Calibration = c.Remark()
	s.Tell("%s", s.header.Calibration)
	return nil
}

// fitCalibration sends the requests as a run, takes it in and fits.
func (s *search) fitCalibration(requests []plan.Request) (c analysis.Calibration, err error) {
	if s.before != "" {
		if err := before(s.Context, &s.Call, s.before, 1); err != nil {
			return c, err
		}
	}
	runID := newRunID(s.id + "-calibration")
	sent := s.tellWhile("calibrating")
	folder, err := s.server.Send(s.Context, runID, "calibration of a capacity search", requests)
	sent()
	if err != nil {
		return c, err
	}
	if _, err := s.IngestRun(s.Context, s.Wait, folder, runID); err != nil {
		return c, err
	}
	fitted := s.tellWhile("fitting constants")
	defer fitted()
	err = s.WithWarehouse(s.Context, warehouse.Update, func(ctx context.Context, w *warehouse.Warehouse) error {
		if c, err = analysis.CalibrateServer(ctx, w.DB(), []string{runID}, time.Now()); err != nil || c.IsWorse() {
			return err
		}
		if err := c.Keep(ctx, w.DB()); err != nil {
			return err
		}
		named := s.named
		named.EngineVersion = c.Deployment.EngineVersion // as the server says, where the user does not
		if err := s.makeTwin(ctx, w, named); err != nil {
			return fmt.Errorf("calibration %d: %w", c.ID, err)
		}
		s.server.Settings.PredictTPOT = s.cost.TPOTOf
		return nil
	})
	return c, err
}
