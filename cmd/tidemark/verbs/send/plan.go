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
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

type planFlags struct {
	Planning
	kit.Deployment
	output string
}

func PlanCommand() *cli.Command {
	f := &planFlags{}
	choices := f.Choices.Flags()
	return &cli.Command{
		Name:      "plan",
		Usage:     "what would be sent and when, without a server",
		ArgsUsage: "SOURCE | PROFILE",
		Description: `Without --output nothing is written, only described. With --gpu and
--catalog-model it also predicts the requests in flight.

Example:
  tidemark plan azure-code --duration 2m
  tidemark plan azure-code --from +10m --duration 2m --output slice.jsonl.zst`,
		Flags: f.WarehouseFlags(slices.Concat(choices, f.ServedFlags(choices...), []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "write the plan to `FILE`, usually .jsonl.zst; - is stdout", Destination: &f.output},
		})...),
		Action: f.Do(f.run),
	}
}

// run writes the plan, or only describes it.
func (f *planFlags) run() error {
	source, err := f.OneArgument("source or profile")
	if err != nil {
		return err
	}
	if f.Mode == "closed" {
		return hint.Misuse("plan: --mode closed is how a plan is sent").Hint("leave it out, and give it to tidemark replay")
	}
	f.Said.MaxModelLen = f.MaxModelLen
	environment, _, err := f.Environment(&f.Call)
	if err != nil {
		return err
	}
	var cost analysis.StepCost
	var predict func(context.Context, *warehouse.Warehouse) error
	if environment != nil {
		predict = func(ctx context.Context, w *warehouse.Warehouse) (err error) {
			cost, err = analysis.LoadStepCost(ctx, w.DB(), *environment)
			return err
		}
	}
	if f.output == "" || f.output == "-" {
		return f.planAside(source, predict, &cost)
	}
	if _, err := f.writePlan(source, f.output, predict); err != nil {
		return err
	}
	made, err := plan.Open(f.output)
	if err != nil {
		return err
	}
	if err := f.print(f.App.Writer, made, cost); err != nil {
		return err
	}
	f.Tell("plan in %s; send it: tidemark replay %s --base-url URL --model M", f.output, escape.Shell(f.output))
	return nil
}

// planAside draws a plan into a temporary file, to see what is in it or to send the plan itself to stdout; it is described on stderr then.
func (f *planFlags) planAside(source string, predict func(context.Context, *warehouse.Warehouse) error, cost *analysis.StepCost) error {
	path, drop, err := f.PlanFor(source, predict)
	if err != nil {
		return err
	}
	defer drop()
	made, err := plan.Open(path)
	if err != nil {
		return err
	}
	if f.output == "" {
		if err := f.print(f.App.Writer, made, *cost); err != nil {
			return err
		}
		f.Tell("nothing was written; --output plan.jsonl.zst keeps the plan")
		return nil
	}
	if err := f.print(f.Messages(), made, *cost); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(terminal.Product(f.App.Writer), file)
	return err
}

// print describes a plan in lines with a name in front. A line that says nothing (no
// shared blocks, nothing dropped, no deployment) is left out.
func (f *planFlags) print(w io.Writer, made *plan.Plan, cost analysis.StepCost) error {
	h := made.Header()
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
		{h.ClassDropped, "dropped: of the class that was left out"},
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
	if cost.Deployment.GPU == "" {
		return nil
	}
	inFlight, ok, err := cost.InFlight(f.Context, made)
	if ok && err == nil {
		fmt.Fprintf(w, "in flight      %s\n", inFlightWords(inFlight))
	}
	return err
}

// inFlightWords say what a rehearsal found.
func inFlightWords(f analysis.InFlight) string {
	text := fmt.Sprintf("%s on average, %d at the peak; the last answer ends %s after the last request (rehearsed)", show.Figures(f.Mean), f.Peak, show.Duration(f.After.Seconds()))
	if f.Refused > 0 {
		text += fmt.Sprintf("; %d are longer than the server takes", f.Refused)
	}
	return text
}
