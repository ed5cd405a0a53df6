package model

// The verb "predict queue" is a calculator for waiting times: by formula from a utilization or a
// rate, event by event for requests that come at once, and for the arrivals of a run or
// a trace. The formulas are SQL macros, called by
// analysis.QueueModels; the simulation is in analysis/queueing.
//
// A frequent mistake is worth an error of its own: "utilization" here is offered load
// over capacity, and not the counter that says how busy a GPU looks (busyCounter).
//
// Exit codes: 0; 2 for flags that leave nothing to compute or contradict each other.
//
// predict queue RUN and predict queue TRACE: arrivals as they were measured. A run also has its service
// times. A trace has arrivals only, so its prompts are timed by the bandwidth model
// (--gpu, --catalog-model) or all take one --service-time.
//
// The last row of each stage serves the same requests one by one. It needs no formula,
// and its distance from the formulas shows what bursts and ramps cost.

import (
	"cmp"
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

type queueFlags struct {
	kit.Call
	kit.Deployment
	utilization                         string
	arrivalRate, arrivalCV, thenRate    float64
	serviceCV                           *float64
	serviceTime, overloadFor, batchTime time.Duration
	servers, atOnce, batch              int
}

func QueueCommand() *cli.Command {
	f := &queueFlags{}
	isPositive := func(d time.Duration) bool { return d > 0 }
	return &cli.Command{
		Name:      "predict queue",
		Aliases:   []string{"queue"},
		Usage:     "what a queue does, by formula and event by event",
		ArgsUsage: "[RUN | TRACE]",
		Description: `From numbers; or from a run, with its measured arrivals and service times;
or from a trace on a deployment (--gpu, --catalog-model) or at a --service-time.
Utilization is offered load over capacity, not how busy a GPU looks.

Example:
  tidemark predict queue --utilization 0.5,0.8,0.95,0.99
  tidemark predict queue --arrival-rate 4 --service-time 200ms --service-cv 2
  tidemark predict queue --at-once 100 --service-time 200ms --batch 10 --batch-time 400ms`,
		Flags: f.TableFlags(append([]cli.Flag{
			&cli.StringFlag{Name: "utilization", Usage: "offered load over capacity: `0.8`, or several with commas", Destination: &f.utilization},
			&cli.Float64Flag{Name: "arrival-rate", Usage: "`4` requests a second", Destination: &f.arrivalRate},
			&cli.DurationFlag{Name: "service-time", Usage: "of one request, alone: `200ms`", Destination: &f.serviceTime, Action: kit.Fits("service-time", "above 0", isPositive)},
			&cli.IntFlag{Name: "servers", Usage: "requests that are served at once: `N` slots", Value: 1, Destination: &f.servers, Action: kit.AtLeastOne[int]("servers")},
			&cli.Float64Flag{Name: "arrival-cv", Usage: "deviation over mean of the gaps between arrivals", Value: 1, Destination: &f.arrivalCV},
			&cli.Float64Flag{Name: "service-cv", Usage: "coefficient of variation of service times; 0: all equal", Value: 1, Action: kit.Said(&f.serviceCV)},
			&cli.DurationFlag{Name: "overload-for", Usage: "the rate lasts `10m`: the backlog then", Destination: &f.overloadFor, Action: kit.Fits("overload-for", "above 0", isPositive)},
			&cli.Float64Flag{Name: "then-rate", Usage: "and falls to `2` requests a second", Destination: &f.thenRate},
			&cli.IntFlag{Name: "at-once", Usage: "`N` requests come at one instant", Destination: &f.atOnce, Action: kit.AtLeastOne[int]("at-once")},
			&cli.IntFlag{Name: "batch", Usage: "and are also served `N` at a time", Destination: &f.batch, Action: kit.AtLeastOne[int]("batch")},
			&cli.DurationFlag{Name: "batch-time", Usage: "which takes `400ms` a batch", Destination: &f.batchTime, Action: kit.Fits("batch-time", "above 0", isPositive)},
		}, f.Deployment.Flags()...)...),
		Action: f.Do(f.run),
	}
}

// run picks the calculation by the flags that are given.
func (f *queueFlags) run() error {
	name, err := f.OptionalArgument("run or trace")
	if err != nil {
		return err
	}
	switch {
	case name != "":
		return f.ofMeasured(name)
	case f.IsGiven("utilization"):
		return f.byUtilization()
	case f.atOnce > 0:
		return f.ofBurst()
	case f.IsGiven("arrival-rate") && f.serviceTime > 0:
		return f.byRate()
	}
	return hint.Misuse("predict queue: nothing to compute").
		Hint("give --utilization, or --arrival-rate and --service-time, or --at-once and --service-time, or name a run or a trace")
}

// refuse is a misuse error where one of these flags, or any of a deployment, is given: by would not read it.
func (f *queueFlags) refuse(by string, flags ...string) error {
	flag := cmp.Or(f.Given(flags...), f.First())
	if flag == "" {
		return nil
	}
	return hint.Misuse("predict queue: --%s means nothing %s", flag, by).Hint("leave it out; tidemark predict queue --help-all says what goes together")
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
			return nil, hint.Misuse("predict queue: %s is not the utilization of a queue: it is how busy the GPU is, which serves a batch at once", word).
				Hint("utilization is offered load over capacity: --arrival-rate and --service-time, or name a run")
		case err != nil:
			return nil, hint.Misuse("predict queue: --utilization %s: not a number", word).Hint("as in --utilization 0.8")
		case !(number >= 0) || number > 1:
			return nil, hint.Misuse("predict queue: --utilization %s: not between 0 and 1", word).Hint("95 %% is 0.95")
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// byUtilization has no clock: waits are in service times.
func (f *queueFlags) byUtilization() error {
	numbers, err := utilizations(f.utilization)
	if err != nil {
		return err
	}
	for _, flag := range []string{"arrival-rate", "service-time", "at-once"} {
		if err := f.Exclusive("utilization", flag); err != nil {
			return err
		}
	}
	if err := f.refuse("by --utilization", "overload-for", "then-rate", "batch", "batch-time"); err != nil {
		return err
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		table := kit.TableOf("utilization_ratio", "model", "servers", "waiting_ratio", "wait_service_ratio", "use_for")
		for _, utilization := range numbers {
			load := f.load(0, 1).At(utilization)
			models, err := analysis.QueueModels(ctx, w.DB(), load)
			if err != nil {
				return err
			}
			addWithoutClock(&table, models, load, f.IsGiven("arrival-cv") || f.serviceCV != nil)
		}
		if err := printQueue(&f.Call, table, "utilization_ratio", "model", "wait_service_ratio", "use_for"); err != nil {
			return err
		}
		f.Remark("Waits are in service times. None of this is a server that batches: below its limit of slots nobody waits for one.")
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

// load is a load with the servers and the variability that the flags give.
func (f *queueFlags) load(ratePerS, serviceS float64) queueing.Load {
	load := queueing.Load{RatePerS: ratePerS, ServiceS: serviceS, Servers: f.servers, ArrivalCV: f.arrivalCV, ServiceCV: 1}
	if f.serviceCV != nil {
		load.ServiceCV = *f.serviceCV
	}
	return load
}

// byRate has a clock, so it can also say what happens above capacity.
func (f *queueFlags) byRate() error {
	if err := f.refuse("by a rate", "batch", "batch-time"); err != nil {
		return err
	}
	if f.IsGiven("then-rate") && f.overloadFor == 0 {
		return hint.Misuse("predict queue: --then-rate is the rate after an overload").Hint("say how long that lasts: --overload-for 10m")
	}
	load := f.load(f.arrivalRate, f.serviceTime.Seconds())
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.QueueModels(ctx, w.DB(), load)
		if err != nil {
			return err
		}
		if err := printQueue(&f.Call, table, "model", "wait_service_ratio", "wait_s", "time_s", "use_for"); err != nil {
			return err
		}
		f.Remark("Utilization %s: %s/s of %s/s that %d can do.", show.Figures(load.Utilization()), show.Figures(load.RatePerS),
			show.Figures(load.CapacityPerS()), load.Servers)
		return f.remarkOverload(ctx, w, load)
	})
}

// remarkOverload speaks of what no formula of a steady state can.
func (f *queueFlags) remarkOverload(ctx context.Context, w *warehouse.Warehouse, load queueing.Load) error {
	if load.Utilization() < 1 {
		return nil
	}
	f.Remark("There is no steady wait: the backlog grows by %s requests a second.", show.Figures(load.GrowthPerS()))
	if f.overloadFor == 0 {
		return nil
	}
	flow, err := analysis.Overloaded(ctx, w.DB(), load.RatePerS, load.CapacityPerS(), f.overloadFor.Seconds(), f.thenRate)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("After %s, %s requests wait, the last of them for %s", f.overloadFor, show.Count(flow.BacklogRequests), seconds(flow.WaitS))
	switch {
	case !f.IsGiven("then-rate"):
	case flow.RecoveryS == nil:
		text += fmt.Sprintf("; at %s/s they never go", show.Figures(f.thenRate))
	default:
		text += fmt.Sprintf("; at %s/s they are gone after another %s", show.Figures(f.thenRate), seconds(*flow.RecoveryS))
	}
	f.Remark("%s.", text)
	return nil
}

// seconds writes a wait as Go writes durations: 1m30.5s.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

// ofBurst serves requests of one instant one by one and in batches, event by event.
func (f *queueFlags) ofBurst() error {
	if f.serviceTime == 0 {
		return hint.Misuse("predict queue: --at-once needs --service-time")
	}
	if (f.batch > 0) != (f.batchTime > 0) {
		return hint.Misuse("predict queue: --batch and --batch-time go together")
	}
	if err := f.refuse("with --at-once", "arrival-rate", "arrival-cv", "service-cv", "overload-for", "then-rate"); err != nil {
		return err
	}
	table := kit.TableOf("served", "service_s", "mean_time_s", "last_done_s", "throughput_per_s")
	add := func(how string, service time.Duration, served queueing.Served) {
		table.Rows = append(table.Rows, []any{how, service.Seconds(), served.MeanTimeS, served.DoneS, served.PerS(f.atOnce)})
	}
	add(fmt.Sprintf("%d at a time", f.servers), f.serviceTime, queueing.ServeAtOnce(f.atOnce, f.serviceTime.Seconds(), f.servers))
	if f.batch > 0 {
		add(fmt.Sprintf("in batches of %d", f.batch), f.batchTime, queueing.ServeBatches(make([]float64, f.atOnce), f.batch, f.batchTime.Seconds()))
	}
	return f.PrintTable(table)
}

// printQueue shows people some columns only.
func printQueue(c *kit.Call, table analysis.Table, columns ...string) error {
	if c.IsForPrograms() {
		return c.PrintTable(table)
	}
	if err := c.PrintTable(chosen(table, columns...)); err != nil {
		return err
	}
	c.Gap()
	return nil
}

// chosen are some columns of a table.
func chosen(table analysis.Table, columns ...string) analysis.Table {
	shown := kit.TableOf(columns...)
	if i := shown.Place("wait_service_ratio"); i >= 0 {
		shown.Columns[i] = "wait/service"
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

// ofMeasured uses measured arrivals, and for a run measured service times too.
func (f *queueFlags) ofMeasured(name string) error {
	if flag := f.Given("utilization", "arrival-rate", "arrival-cv", "at-once", "overload-for", "then-rate", "batch", "batch-time"); flag != "" {
		return hint.Misuse("predict queue: %s has its own arrivals; leave --%s out", name, flag)
	}
	return f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		queues, err := f.measuredQueues(ctx, w, name)
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
		if f.IsForPrograms() {
			return f.PrintTable(table)
		}
		return printStages(&f.Call, table, queues)
	})
}

// measuredQueues are the stages of a run (prompts, then slots), or the one of a trace.
func (f *queueFlags) measuredQueues(ctx context.Context, w *warehouse.Warehouse, name string) ([]analysis.MeasuredQueue, error) {
	name, err := analysis.Subject(ctx, w.DB(), name)
	if err != nil {
		return nil, err
	}
	isRun, err := analysis.IsRun(ctx, w.DB(), name)
	if err != nil {
		return nil, err
	}
	d, isNamed, err := f.Named(&f.Call)
	switch {
	case err != nil:
		return nil, err
	case isRun && (isNamed || f.serviceTime > 0):
		return nil, hint.Misuse("predict queue: a run has its own deployment; leave --gpu, --catalog-model and --service-time out")
	case (isRun || isNamed) && f.Given("servers", "service-cv") != "":
		return nil, hint.Misuse("predict queue: --%s goes with --service-time; here the service is measured or modelled", f.Given("servers", "service-cv")).Hint("leave it out")
	case isRun:
		return analysis.QueuesOfRun(ctx, w.DB(), name)
	case isNamed == (f.serviceTime > 0):
		return nil, hint.Misuse("predict queue: the trace %s has arrivals and no service times", name).
			Hint("give --gpu and --catalog-model for the prompts' own times, or one --service-time")
	case isNamed:
		queue, err := analysis.QueueOfSource(ctx, w.DB(), name, d)
		return []analysis.MeasuredQueue{queue}, err
	}
	cv := 0.0 // as one time is said, all are equal
	if f.serviceCV != nil {
		cv = *f.serviceCV
	}
	queue, err := analysis.ArrivalsOfSource(ctx, w.DB(), name, f.serviceTime.Seconds(), cv, f.servers)
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
		load.InServices(queue.Served.MeanWaitS), queue.Served.MeanWaitS, queue.Served.MeanTimeS,
		"these arrivals, in order, bursts and ramps with them", "other arrivals", queue.Served.P99WaitS,
	})
}

func printStages(c *kit.Call, table analysis.Table, queues []analysis.MeasuredQueue) error {
	for i, queue := range queues {
		if i > 0 {
			c.Gap()
		}
		load := queue.Load
		if queue.Address != "" && i == 0 {
			c.Remark("Of the requests to %s, the address that got most of the run's own model.", queue.Address)
		}
		c.Remark("%s: %s requests at %s/s (cv of the gaps %s), %s each (cv %s), %d at a time: utilization %s.", queue.Stage, show.Count(float64(queue.Requests)),
			show.Figures(load.RatePerS), show.Figures(load.ArrivalCV), show.Duration(load.ServiceS), show.Figures(load.ServiceCV), load.Servers, show.Figures(load.Utilization()))
		c.Gap()
		stage := analysis.Table{Columns: table.Columns}
		for _, row := range table.Rows {
			if row[0] == queue.Stage {
				stage.Rows = append(stage.Rows, row)
			}
		}
		if err := c.PrintTable(chosen(stage, "model", "wait_service_ratio", "wait_s", "p99_wait_s", "use_for")); err != nil {
			return err
		}
	}
	c.Gap()
	c.Remark("A prompt's service is what the bandwidth model says it adds to the steps of others; a slot's, that and the time from first to last token.")
	return nil
}
