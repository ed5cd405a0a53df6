package analysis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// CalibrationPlan is a workload that tells the constants of a server apart: bursts of 1, 2, 4, ... requests with prompts of three lengths, each
// alone on the server. Every corner comes twice, as far before the middle as behind it, so that a drift of clocks or temperature falls out.
// The server's own size decides which corners there are, and the model how long each takes; the longest are left out until all fit in longest.

// LongestCalibration is the plan's bound.
const LongestCalibration = 3 * time.Minute

const (
	calibrationAnswer = 64 // tokens
	mostCalibrating   = 1024
	// A burst is no instant: which of its requests just miss a step would be chance, and it is half of them or none.
	burstLasts = 10 * time.Millisecond
)

var calibrationPrompts = [...]int{128, 1000, 4000} // tokens

// corner is one burst of requests that are alike.
type corner struct {
	batch, prompt int
	times         int // that it is sent in each half
	takes         time.Duration
}

// CalibrationPlan lists the requests, in order of due time, and how long they take by the model.
func (c StepCost) CalibrationPlan(ctx context.Context, longest time.Duration) ([]plan.Request, time.Duration, error) {
	corners, err := c.corners(ctx)
	if err != nil {
		return nil, 0, err
	}
	total := func() (sum time.Duration) {
		for _, one := range corners {
			sum += 2 * time.Duration(one.times) * one.takes
		}
		return sum
	}
	for len(corners) > 0 && total() > longest {
		slowest := slices.MaxFunc(corners, func(a, b corner) int { return int(time.Duration(a.times)*a.takes - time.Duration(b.times)*b.takes) })
		corners = slices.DeleteFunc(corners, func(one corner) bool { return one == slowest })
	}
	if len(corners) == 0 {
		return nil, 0, hint.Errorf("calibration: not one request of %d tokens is answered in %v", calibrationPrompts[0], longest).Hint("allow more time")
	}
	back := slices.Clone(corners)
	slices.Reverse(back)
	var requests []plan.Request
	at := time.Duration(0)
	for _, one := range append(corners, back...) {
		for range one.times {
			for i := range one.batch {
				due := at + burstLasts*time.Duration(i)/time.Duration(one.batch)
				requests = append(requests, plan.Request{Seq: int64(len(requests)), Due: due, InputTokens: one.prompt, OutputTokens: calibrationAnswer, Class: fmt.Sprintf("%d of %d", one.batch, one.prompt)})
			}
			at += one.takes
		}
	}
	return requests, at, nil
}

// corners are all that fit into the server, with the time that the model says, a half more of it for what it does not know, and a pause.
func (c StepCost) corners(ctx context.Context) (all []corner, err error) {
	most := min(c.Deployment.MaxNumSeqs, mostCalibrating)
	for _, prompt := range calibrationPrompts {
		if longest := c.Deployment.MaxModelLen; longest > 0 && prompt+calibrationAnswer > longest {
			continue
		}
		for batch := 1; batch <= most && int64(batch*(prompt+calibrationAnswer)) <= c.KVCapacityTokens; batch *= 2 {
			one := corner{batch: batch, prompt: prompt, times: max(1, leastPlayed/2/batch)}
			if one.takes, err = c.burst(ctx, one); err != nil {
				return nil, err
			}
			one.takes = one.takes*3/2 + 200*time.Millisecond
			all = append(all, one)
		}
	}
	return all, nil
}

// burst is how long the server works on one.
func (c StepCost) burst(ctx context.Context, one corner) (takes time.Duration, err error) {
	requests := slices.Repeat([]plan.Request{{InputTokens: one.prompt, OutputTokens: calibrationAnswer}}, one.batch)
	err = rehearsal.PlayAll(ctx, c.alone(), requests, func(r *rehearsal.Request) error {
		takes = max(takes, r.Last)
		return nil
	})
	return takes, err
}
