package model

// The verb queue is a calculator for waiting times: by formula from a utilization or a
// rate, event by event for requests that come at once, and for the arrivals of a run or
// a trace. The formulas are SQL macros, called by
// analysis.QueueModels; the simulation is in analysis/queueing.
//
// A frequent mistake is worth an error of its own: "utilization" here is offered load
// over capacity, and not the counter that says how busy a GPU looks (busyCounter).
//
// Exit codes: 0; 2 for flags that leave nothing to compute or contradict each other.
//
// queue RUN and queue TRACE: arrivals as they were measured. A run also has its service
// times. A trace has arrivals only, so its prompts are timed by the bandwidth model
// (--gpu, --model) or all take one --service-time.
//
// The last row of each stage serves the same requests one by one. It needs no formula,
// and its distance from the formulas shows what bursts and ramps cost.

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

func QueueCommand() *cli.Command {
	return &cli.Command{
		Name:      "queue",
		Usage:     "what a queue does, by formula and event by event",
		ArgsUsage: "[RUN | TRACE]",
		Description: `From numbers; or from a run, with its measured arrivals and service times;
or from a trace on a deployment (--gpu, --model) or at a --service-time.
Utilization is offered load over capacity, not how busy a GPU looks.

Example:
  tidemark queue --utilization 0.5,0.8,0.95,0.99
  tidemark queue --arrival-rate 4 --service-time 200ms --service-cv 2
  tidemark queue --at-once 100 --service-time 200ms --batch 10 --batch-time 400ms`,
		Flags: kit.WithTableFlags(append([]cli.Flag{
			&cli.StringFlag{Name: "utilization", Usage: "offered load over capacity: `0.8`, or several with commas"},
			&cli.Float64Flag{Name: "arrival-rate", Usage: "`4` requests a second"},
			&cli.DurationFlag{Name: "service-time", Usage: "of one request, alone: `200ms`"},
			&cli.IntFlag{Name: "servers", Usage: "requests that are served at once: `N` slots", Value: 1},
			&cli.Float64Flag{Name: "arrival-cv", Usage: "deviation over mean of the gaps between arrivals", Value: 1},
			&cli.Float64Flag{Name: "service-cv", Usage: "coefficient of variation of service times; 0: all equal", Value: 1},
			&cli.DurationFlag{Name: "overload-for", Usage: "the rate lasts `10m`: the backlog then"},
			&cli.Float64Flag{Name: "then-rate", Usage: "and falls to `2` requests a second"},
			&cli.IntFlag{Name: "at-once", Usage: "`N` requests come at one instant"},
			&cli.IntFlag{Name: "batch", Usage: "and are also served `N` at a time"},
			&cli.DurationFlag{Name: "batch-time", Usage: "which takes `400ms` a batch"},
		}, kit.DeploymentFlags()...)...),
		Action: runQueue,
	}
}

// runQueue picks the calculation by the flags that are given.
func runQueue(c *cli.Context) error {
	name, err := kit.OptionalArgument(c, "run or trace")
	if err != nil {
		return err
	}
	if err := kit.PositiveFlags(c, "servers", "at-once", "batch"); err != nil {
		return err
	}
	for _, flag := range []string{"service-time", "batch-time", "overload-for"} {
		if c.IsSet(flag) && c.Duration(flag) <= 0 {
			return hint.Misuse("queue: --%s must be above 0", flag)
		}
	}
	switch {
	case name != "":
		return queueOf(c, name)
	case c.IsSet("utilization"):
		return queueByUtilization(c)
	case c.IsSet("at-once"):
		return queueAtOnce(c)
	case c.IsSet("arrival-rate") && c.IsSet("service-time"):
		return queueByRate(c)
	}
	return hint.Misuse("queue: nothing to compute").
		Hint("give --utilization, or --arrival-rate and --service-time, or --at-once and --service-time, or name a run or a trace")
}

// busyCounter is the name of what says how busy a GPU is.
var busyCounter = regexp.MustCompile(`(?i)sm_?active|sm_?occupancy|gpu_?util|gr_?engine|pipe_?.*_?active|dram_?active|utilization\.gpu`)

// utilizations reads numbers, and says why the name of a counter is none.
func utilizations(text string) ([]float64, error) {
	var numbers []float64
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		number, err := strconv.ParseFloat(word, 64)
		switch {
		case busyCounter.MatchString(word):
			return nil, hint.Misuse("queue: %s is not the utilization of a queue: it is how busy the GPU is, which serves a batch at once", word).
				Hint("utilization is offered load over capacity: --arrival-rate and --service-time, or name a run")
		case err != nil:
			return nil, hint.Misuse("queue: --utilization %s: not a number", word).Hint("as in --utilization 0.8")
		case !(number >= 0) || number > 1:
			return nil, hint.Misuse("queue: --utilization %s: not between 0 and 1", word).Hint("95 %% is 0.95")
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// queueByUtilization has no clock: waits are in service times.
func queueByUtilization(c *cli.Context) error {
	numbers, err := utilizations(c.String("utilization"))
	if err != nil {
		return err
	}
	for _, flag := range []string{"arrival-rate", "service-time", "at-once"} {
		if err := kit.Exclusive(c, "utilization", flag); err != nil {
			return err
		}
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table := kit.TableOf("utilization_ratio", "model", "servers", "waiting_ratio", "wait_service_ratio", "use_for")
		for _, utilization := range numbers {
			load := loadOf(c, utilization*float64(c.Int("servers")), 1)
			models, err := analysis.QueueModels(ctx, w.DB(), load)
			if err != nil {
				return err
			}
			addWithoutClock(&table, models, load, c.IsSet("arrival-cv") || c.IsSet("service-cv"))
		}
		if err := printQueue(c, table, "utilization_ratio", "model", "wait_service_ratio", "use_for"); err != nil {
			return err
		}
		kit.Remark(c, "Waits are in service times. None of this is a server that batches: below its limit of slots nobody waits for one.")
		return nil
	})
}

// addWithoutClock keeps the textbook's row, and the others where more than a utilization was said.
func addWithoutClock(table *analysis.Table, models analysis.Table, load queueing.Load, isMoreSaid bool) {
	for i, row := range kit.RowsOf(models) {
		if i > 0 && !isMoreSaid {
			break
		}
		table.Rows = append(table.Rows, []any{load.Utilization(), row["model"], row["servers"], row["waiting_ratio"], row["wait_service_ratio"], row["use_for"]})
	}
}

// loadOf is a load with the servers and the variability that the flags give.
func loadOf(c *cli.Context, ratePerS, serviceS float64) queueing.Load {
	return queueing.Load{
		RatePerS: ratePerS, ServiceS: serviceS, Servers: c.Int("servers"),
		ArrivalCV: c.Float64("arrival-cv"), ServiceCV: c.Float64("service-cv"),
	}
}

// queueByRate has a clock, so it can also say what happens above capacity.
func queueByRate(c *cli.Context) error {
	load := loadOf(c, c.Float64("arrival-rate"), c.Duration("service-time").Seconds())
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.QueueModels(ctx, w.DB(), load)
		if err != nil {
			return err
		}
		if err := printQueue(c, table, "model", "wait_service_ratio", "wait_s", "time_s", "use_for"); err != nil {
			return err
		}
		kit.Remark(c, "Utilization %s: %s/s of %s/s that %d can do.", show.Figures(load.Utilization()), show.Figures(load.RatePerS),
			show.Figures(float64(load.Servers)/load.ServiceS), load.Servers)
		return remarkOverload(ctx, c, w, load)
	})
}

// remarkOverload speaks of what no formula of a steady state can.
func remarkOverload(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, load queueing.Load) error {
	capacity := float64(load.Servers) / load.ServiceS
	if load.Utilization() < 1 {
		return nil
	}
	kit.Remark(c, "There is no steady wait: the backlog grows by %s requests a second.", show.Figures(load.RatePerS-capacity))
	if !c.IsSet("overload-for") {
		return nil
	}
	flow, err := analysis.Overloaded(ctx, w.DB(), load.RatePerS, capacity, c.Duration("overload-for").Seconds(), c.Float64("then-rate"))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("After %s, %s requests wait, the last of them for %s", c.Duration("overload-for"), kit.Whole(flow.BacklogRequests), seconds(flow.WaitS))
	switch {
	case !c.IsSet("then-rate"):
	case flow.RecoveryS == nil:
		text += fmt.Sprintf("; at %s/s they never go", show.Figures(c.Float64("then-rate")))
	default:
		text += fmt.Sprintf("; at %s/s they are gone after another %s", show.Figures(c.Float64("then-rate")), seconds(*flow.RecoveryS))
	}
	kit.Remark(c, "%s.", text)
	return nil
}

// seconds writes a wait as Go writes durations: 1m30.5s.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

// queueAtOnce serves requests of one instant one by one and in batches, event by event.
func queueAtOnce(c *cli.Context) error {
	if !c.IsSet("service-time") {
		return hint.Misuse("queue: --at-once needs --service-time")
	}
	if c.IsSet("batch") != c.IsSet("batch-time") {
		return hint.Misuse("queue: --batch and --batch-time go together")
	}
	n, service := c.Int("at-once"), c.Duration("service-time").Seconds()
	arrivals, services := make([]float64, n), make([]float64, n)
	for i := range services {
		services[i] = service
	}
	table := kit.TableOf("served", "service_s", "mean_time_s", "last_done_s", "throughput_per_s")
	add := func(how string, serviceS float64, served queueing.Served) {
		table.Rows = append(table.Rows, []any{how, serviceS, served.MeanTimeS, served.DoneS, float64(n) / served.DoneS})
	}
	add(fmt.Sprintf("%d at a time", c.Int("servers")), service, queueing.Serve(arrivals, services, c.Int("servers")))
	if c.IsSet("batch") {
		batchS := c.Duration("batch-time").Seconds()
		add(fmt.Sprintf("in batches of %d", c.Int("batch")), batchS, queueing.ServeBatches(arrivals, c.Int("batch"), batchS))
	}
	return kit.PrintTable(c, table)
}

// printQueue shows people some columns only.
func printQueue(c *cli.Context, table analysis.Table, columns ...string) error {
	if kit.IsForPrograms(c) {
		return kit.PrintTable(c, table)
	}
	if err := kit.PrintTable(c, chosen(table, columns...)); err != nil {
		return err
	}
	kit.Gap(c)
	return nil
}

// chosen are some columns of a table.
func chosen(table analysis.Table, columns ...string) analysis.Table {
	shown := kit.TableOf(columns...)
	if i := shown.Place("wait_service_ratio"); i >= 0 {
		shown.Columns[i].Name = "wait/service"
	}
	for _, row := range kit.RowsOf(table) {
		cells := make([]any, len(columns))
		for i, name := range columns {
			cells[i] = row[name]
		}
		shown.Rows = append(shown.Rows, cells)
	}
	return shown
}

// queueOf uses measured arrivals, and for a run measured service times too.
func queueOf(c *cli.Context, name string) error {
	for _, flag := range []string{"utilization", "arrival-rate", "arrival-cv", "at-once", "overload-for"} {
		if c.IsSet(flag) {
			return hint.Misuse("queue: %s has its own arrivals; leave --%s out", name, flag)
		}
	}
	return kit.WithWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		queues, err := measuredQueues(ctx, c, w, name)
		if err != nil {
			return err
		}
		var table analysis.Table
		for _, queue := range queues {
			models, err := analysis.QueueModels(ctx, w.DB(), queue.Load)
			if err != nil {
				return err
			}
			addStage(&table, queue, models)
		}
		if kit.IsForPrograms(c) {
			return kit.PrintTable(c, table)
		}
		return printStages(c, table, queues)
	})
}

// measuredQueues are the stages of a run (prompts, then slots), or the one of a trace.
func measuredQueues(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, name string) ([]analysis.MeasuredQueue, error) {
	name, err := analysis.Subject(ctx, w.DB(), name)
	if err != nil {
		return nil, err
	}
	isRun, err := analysis.IsRun(ctx, w.DB(), name)
	if err != nil {
		return nil, err
	}
	d, isNamed, err := kit.DeploymentOf(c)
	switch {
	case err != nil:
		return nil, err
	case isRun && (isNamed || c.IsSet("service-time")):
		return nil, hint.Misuse("queue: a run has its own deployment; leave --gpu, --model and --service-time out")
	case isRun:
		return analysis.QueuesOfRun(ctx, w.DB(), name)
	case isNamed && c.IsSet("service-time") || !isNamed && !c.IsSet("service-time"):
		return nil, hint.Misuse("queue: the trace %s has arrivals and no service times", name).
			Hint("give --gpu and --model for the prompts' own times, or one --service-time")
	case isNamed:
		queue, err := analysis.QueueOfSource(ctx, w.DB(), name, d)
		return []analysis.MeasuredQueue{queue}, err
	}
	cv := 0.0 // as one time is said, all are equal
	if c.IsSet("service-cv") {
		cv = c.Float64("service-cv")
	}
	queue, err := analysis.ArrivalsOfSource(ctx, w.DB(), name, c.Duration("service-time").Seconds(), cv, c.Int("servers"))
	return []analysis.MeasuredQueue{queue}, err
}

// byEvents is the row that needs no formula.
const byEvents = "by events"

// addStage adds the rows of one stage: its formulas, and last the same requests event by event.
func addStage(table *analysis.Table, queue analysis.MeasuredQueue, models analysis.Table) {
	if table.Columns == nil {
		table.Columns = slices.Concat(kit.TableOf("stage").Columns, models.Columns, kit.TableOf("p99_wait_s").Columns)
	}
	for _, row := range models.Rows {
		table.Rows = append(table.Rows, append(append([]any{queue.Stage}, row...), nil))
	}
	if math.IsNaN(queue.Served.MeanWaitS) {
		return
	}
	load := queue.Load
	table.Rows = append(table.Rows, []any{
		queue.Stage, byEvents, int64(load.Servers), load.RatePerS, load.ServiceS, load.ArrivalCV, load.ServiceCV, load.Utilization(), nil,
		queue.Served.MeanWaitS / load.ServiceS, queue.Served.MeanWaitS, queue.Served.MeanTimeS,
		"these arrivals, in order, bursts and ramps with them", "other arrivals", queue.Served.P99WaitS,
	})
}

func printStages(c *cli.Context, table analysis.Table, queues []analysis.MeasuredQueue) error {
	for i, queue := range queues {
		if i > 0 {
			kit.Gap(c)
		}
		load := queue.Load
		kit.Remark(c, "%s: %s requests at %s/s (cv of the gaps %s), %s each (cv %s), %d at a time: utilization %s.", queue.Stage, kit.Whole(float64(queue.Requests)),
			show.Figures(load.RatePerS), show.Figures(load.ArrivalCV), show.Duration(load.ServiceS), show.Figures(load.ServiceCV), load.Servers, show.Figures(load.Utilization()))
		kit.Gap(c)
		stage := analysis.Table{Columns: table.Columns}
		for _, row := range table.Rows {
			if row[0] == queue.Stage {
				stage.Rows = append(stage.Rows, row)
			}
		}
		if err := kit.PrintTable(c, chosen(stage, "model", "wait_service_ratio", "wait_s", "p99_wait_s", "use_for")); err != nil {
			return err
		}
	}
	kit.Gap(c)
	kit.Remark(c, "A prompt's service is what the bandwidth model says it adds to the steps of others; a slot's, that and the time from first to last token.")
	return nil
}
