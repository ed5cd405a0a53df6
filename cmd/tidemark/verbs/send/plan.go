package send

// The verb plan draws what would be sent and describes it: requests, minutes, mean and
// peak rate, tokens, and with a deployment the expected requests in flight. writeplan.go
// makes the plan; this file prints it.
//
// Where the plan itself goes to stdout (--output -), its description goes to stderr.
//
// Exit codes: 0; 2 for choices that make no sense; 4 for a missing source or file.

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

func PlanCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "what would be sent and when, without a server",
		ArgsUsage: "SOURCE | PROFILE",
		Description: `Without --output nothing is written, only described. With --gpu and
--catalog-model it also predicts the requests in flight.

Example:
  tidemark plan azure-code --duration 2m
  tidemark plan azure-code --from +10m --duration 2m --output slice.jsonl.zst`,
		Flags: kit.WithWarehouseFlags(append(append(ChoiceFlags(), new(kit.Deployment).ServedFlags(ChoiceFlags()...)...),
			&cli.StringFlag{Name: "output", Usage: "write the plan to `FILE`, usually .jsonl.zst; - is stdout"})...),
		Action: runPlan,
	}
}

// runPlan writes the plan, or only describes it.
func runPlan(c *cli.Context) error {
	source, err := kit.OneArgument(c, "source or profile")
	if err != nil {
		return err
	}
	environment, _, err := kit.NamedEnvironment(c)
	if err != nil {
		return err
	}
	output := c.String("output")
	if output == "-" {
		return planToStdout(c, source)
	}
	var cost analysis.StepCost
	predict := func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		cost, err = analysis.LoadStepCost(ctx, w.DB(), *environment)
		return err
	}
	if environment == nil {
		predict = nil
	}
	var header plan.Header
	if output == "" {
		header, err = planAside(c, source, predict)
	} else {
		header, err = writePlan(c, source, output, predict)
	}
	if err != nil {
		return err
	}
	printPlan(c.App.Writer, header)
	if environment != nil && header.DurationS > 0 {
		fmt.Fprintf(c.App.Writer, "in flight      %s\n", steadyState(cost, header))
	}
	if output == "" {
		kit.Tell(c, "nothing was written; --output plan.jsonl.zst keeps the plan")
	} else {
		kit.Tell(c, "plan in %s; send it: tidemark replay %s --base-url URL --model M", output, output)
	}
	return nil
}

// planAside draws a plan into a temporary file, only to see what is in it.
func planAside(c *cli.Context, source string, also func(context.Context, *warehouse.Warehouse) error) (plan.Header, error) {
	path, drop, err := PlanFor(c, source, also)
	if err != nil {
		return plan.Header{}, err
	}
	defer drop()
	if also != nil && IsPlanFile(source) { // a plan file needed no warehouse so far
		if err := kit.Calculator(c, also); err != nil {
			return plan.Header{}, err
		}
	}
	made, err := plan.Open(path)
	if err != nil {
		return plan.Header{}, err
	}
	return made.Header(), nil
}

// planToStdout sends the plan itself to stdout and describes it on stderr.
func planToStdout(c *cli.Context, source string) error {
	path, drop, err := PlanFor(c, source, nil)
	if err != nil {
		return err
	}
	defer drop()
	plan, err := plan.Open(path)
	if err != nil {
		return err
	}
	printPlan(kit.Messages(c), plan.Header())
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(terminal.Product(c.App.Writer), file)
	return err
}

// printPlan describes a plan in lines with a name in front. A line that says nothing (no
// shared blocks, nothing dropped) is left out.
func printPlan(w io.Writer, h plan.Header) {
	fmt.Fprintf(w, "requests       %d, seed %d\n", h.Requests, h.Seed)
	fmt.Fprintf(w, "minutes        %s\n", show.Figures(h.DurationS/60))
	if h.MeanRatePerS > 0 {
		fmt.Fprintf(w, "rate           %s/s mean, %s/s in the busiest second, wherever it begins\n", show.Figures(h.MeanRatePerS), show.Figures(h.PeakRatePerS))
	} else {
		fmt.Fprintf(w, "rate           all at once\n")
	}
	if drawn := h.Scaling.DrawnSessions; drawn > 0 {
		fmt.Fprintf(w, "note           %d sessions start at drawn times, %s a second: the trace has no starts\n", drawn, show.Figures(h.Scaling.SessionRatePerS))
	}
	fmt.Fprintf(w, "input tokens   %d\n", h.InputTokens)
	if h.BlockTokens > 0 {
		fmt.Fprintf(w, "  of them      %d in blocks that an earlier request had\n", h.SharedTokens)
	}
	fmt.Fprintf(w, "output tokens  %d\n", h.OutputTokens)
	if tick := h.Scaling.SpreadTickS; tick > 0 {
		fmt.Fprintf(w, "note           each tick's requests are spread over its %s\n", show.Duration(tick))
	}
	for _, left := range []struct {
		count int64
		what  string
	}{
		{h.OverlongDropped, "dropped: longer than --max-model-len"},
		{h.OverlongCut, "dropped with them: later turns of the same sessions"},
		{h.OverlongCapped, "capped at --max-model-len"},
		{h.ZeroOutputDropped, "left out: the trace has no output for them"},
		{h.ZeroInputDropped, "left out: the trace has no prompt for them"},
		{h.ShortLastBlocks, "end in a few tokens that another prompt may match by chance"},
	} {
		if left.count > 0 {
			fmt.Fprintf(w, "note           %d requests %s\n", left.count, left.what)
		}
	}
}

// steadyState predicts how many requests decode at once, or says what keeps the
// rate from being sustained. It is the mean-field server of an open loop: at a rate
// of lam requests a second, each of which adds x seconds of prefill to the steps of
// others and decodes n tokens after its first,
//
//	tau = T_dec(B) / (1 - lam x)    B = lam n tau
//
// iterated to the batch B that keeps itself up.
func steadyState(cost analysis.StepCost, h plan.Header) string {
	requests := float64(h.Requests)
	lam := requests / h.DurationS
	prompt := float64(h.InputTokens-h.SharedTokens) / requests
	context := float64(h.InputTokens)/requests + float64(h.OutputTokens)/requests/2
	windowed := context
	if cost.SlidingWindow > 0 {
		windowed = min(context, float64(cost.SlidingWindow))
	}
	step := func(batch float64, prefill int) float64 {
		return cost.Seconds(max(1, int(batch+0.5)), int64(batch*context), int64(batch*windowed),
			prefill, min(prefill, 1), float64(prefill)*(context-float64(prefill)/2))
	}
	prefill := step(1, int(prompt)) - step(1, 0)
	if lam*prefill >= 1 {
		return fmt.Sprintf("not sustained: each second brings %s of prefill", show.Duration(lam*prefill))
	}
	seats := min(float64(cost.Deployment.MaxNumSeqs*max(cost.Deployment.DataParallelSize, 1)), float64(cost.KVCapacityTokens)/context)
	batch, tau := 1.0, 0.0
	for range 1000 {
		tau = step(batch, 0) / (1 - lam*prefill)
		batch += (lam*max(0, float64(h.OutputTokens)/requests-1)*tau - batch) / 2
		if batch > seats {
			return fmt.Sprintf("not sustained: more than %d, all that --max-num-seqs and the KV cache let in", int(seats))
		}
	}
	return fmt.Sprintf("about %s decoding at %s a token; prefill takes %s %% of the time",
		show.Figures(batch), show.Duration(tau), show.Figures(100*lam*prefill))
}
