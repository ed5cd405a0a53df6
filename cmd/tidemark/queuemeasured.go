package main

// queue RUN and queue TRACE: arrivals as they were measured. A run also has its service
// times. A trace has arrivals only, so its prompts are timed by the bandwidth model
// (--gpu, --model) or all take one --service-time.
//
// The last row of each stage serves the same requests one by one. It needs no formula,
// and its distance from the formulas shows what bursts and ramps cost.

import (
	"context"
	"math"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/warehouse"
)

// queueOf uses measured arrivals, and for a run measured service times too.
func queueOf(c *cli.Context, name string) error {
	for _, flag := range []string{"utilization", "arrival-rate", "arrival-cv", "at-once", "overload-for"} {
		if c.IsSet(flag) {
			return hint.Misuse("queue: %s has its own arrivals; leave --%s out", name, flag)
		}
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
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
		if isForPrograms(c) {
			return printTable(c, table)
		}
		return printStages(c, table, queues)
	})
}

// measuredQueues are the stages of a run (prompts, then slots), or the one of a trace.
func measuredQueues(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, name string) ([]analysis.MeasuredQueue, error) {
	isRun, err := analysis.IsRun(ctx, w.DB(), name)
	if err != nil {
		return nil, err
	}
	d, isNamed, err := deploymentOf(c)
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
		table.Columns = slices.Concat(tableOf("stage").Columns, models.Columns, tableOf("p99_wait_s").Columns)
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
			gap(c)
		}
		load := queue.Load
		remark(c, "%s: %s requests at %s/s (cv of the gaps %s), %s each (cv %s), %d at a time: utilization %s.", queue.Stage, whole(float64(queue.Requests)),
			show.Figures(load.RatePerS), show.Figures(load.ArrivalCV), show.Duration(load.ServiceS), show.Figures(load.ServiceCV), load.Servers, show.Figures(load.Utilization()))
		gap(c)
		stage := analysis.Table{Columns: table.Columns}
		for _, row := range table.Rows {
			if row[0] == queue.Stage {
				stage.Rows = append(stage.Rows, row)
			}
		}
		if err := printTable(c, chosen(stage, "model", "wait_service_ratio", "wait_s", "p99_wait_s", "use_for")); err != nil {
			return err
		}
	}
	gap(c)
	remark(c, "A prompt's service is what the bandwidth model says it adds to the steps of others; a slot's, that and the time from first to last token.")
	return nil
}
