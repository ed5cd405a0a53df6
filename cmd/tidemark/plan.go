package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/warehouse"
	"tidemark/replay"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "what would be sent and when, without a server",
		ArgsUsage: "SOURCE",
		Description: `With --gpu and --catalog-model the requests in flight are predicted too.

Example:
  tidemark plan azure-code --from +10m --duration 2m --output slice.jsonl.zst`,
		Flags: everywhere(append(append(choiceFlags(), environmentFlags()...),
			&cli.StringFlag{Name: "output", Usage: "write the plan to `FILE` (ends in .jsonl.zst by custom)"})...),
		Action: runPlan,
	}
}

func runPlan(c *cli.Context) error {
	source, err := oneArgument(c, "source")
	if err != nil {
		return err
	}
	if err := need(c, "output"); err != nil {
		return err
	}
	environment, _, err := environmentOf(c)
	if err != nil {
		return err
	}
	header, err := writePlan(c, source, c.String("output"))
	if err != nil {
		return err
	}
	printPlan(c.App.Writer, header)
	if environment != nil {
		if err := printInFlight(c, deploymentFrom(*environment), header); err != nil {
			return err
		}
	}
	tell(c, "plan in %s; send it: tidemark replay %s --base-url URL --model M", c.String("output"), c.String("output"))
	return nil
}

func printPlan(w io.Writer, h replay.Header) {
	fmt.Fprintf(w, "requests       %d, seed %d\n", h.Requests, h.Seed)
	fmt.Fprintf(w, "minutes        %s\n", digits(h.DurationS/60))
	fmt.Fprintf(w, "rate           %s/s mean, %s/s at its peak\n", digits(h.MeanRatePerS), digits(h.PeakRatePerS))
	fmt.Fprintf(w, "input tokens   %d\n", h.InputTokens)
	if h.BlockTokens > 0 {
		fmt.Fprintf(w, "  of them      %d in blocks that an earlier request had\n", h.SharedTokens)
	}
	fmt.Fprintf(w, "output tokens  %d\n", h.OutputTokens)
	for _, left := range []struct {
		count int64
		what  string
	}{
		{h.OverlongDropped, "dropped: longer than --max-model-len"},
		{h.OverlongCapped, "capped at --max-model-len"},
		{h.ZeroOutputDropped, "left out: the trace has no output for them"},
		{h.ZeroInputDropped, "left out: the trace has no prompt for them"},
		{h.ShortLastBlocks, "end in a block too short to tell two ids apart"},
	} {
		if left.count > 0 {
			fmt.Fprintf(w, "note           %d requests %s\n", left.count, left.what)
		}
	}
}

// printInFlight predicts how many requests decode at once: the batch at which
// tokens leave as fast as the plan asks for them.
func printInFlight(c *cli.Context, d analysis.Deployment, h replay.Header) error {
	return inMemory(c.Context, func(w *warehouse.Warehouse) error {
		cost, err := analysis.LoadStepCost(c.Context, w.DB(), d)
		if err != nil {
			return err
		}
		if h.DurationS <= 0 || h.Requests == 0 {
			return nil
		}
		batch, tpot := steadyBatch(cost, h)
		if batch >= float64(d.MaxNumSeqs) {
			fmt.Fprintf(c.App.Writer, "in flight      more than --max-num-seqs %d: this rate is not sustained\n", d.MaxNumSeqs)
			return nil
		}
		fmt.Fprintf(c.App.Writer, "in flight      about %s decoding at %s a token\n", digits(batch), readableNumber("tpot_s", tpot))
		return nil
	})
}

// steadyBatch iterates the batch B = (output tokens per second) * TPOT(B), with
// the prefill of the arriving prompts spread over the steps.
func steadyBatch(cost analysis.StepCost, h replay.Header) (batch, tpotS float64) {
	tokensPerS := float64(h.OutputTokens) / h.DurationS
	promptPerS := float64(h.InputTokens-h.SharedTokens) / h.DurationS
	context := float64(h.InputTokens)/float64(h.Requests) + float64(h.OutputTokens)/float64(h.Requests)/2
	windowed := context
	if cost.SlidingWindow > 0 {
		windowed = min(context, float64(cost.SlidingWindow))
	}
	batch = 1
	for range 200 {
		decoding := max(1, int(batch+0.5))
		step := func(prefill int) float64 {
			return cost.Seconds(decoding, int64(batch*context), int64(batch*windowed),
				prefill, min(prefill, 1), float64(prefill)*float64(prefill)/2)
		}
		tpotS = step(0)
		tpotS = step(int(promptPerS * tpotS))
		next := tokensPerS * tpotS
		if next > 1e6 {
			return next, tpotS
		}
		batch = 0.5*batch + 0.5*next
	}
	return batch, tpotS
}
