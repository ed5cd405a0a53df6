package send

// The verb simulate serves a simulated vLLM over HTTP. internal/vllmsim is the server;
// the time of a step comes from the bandwidth model, evaluated once in SQL before
// the server starts.
//
// A simulator says on every interface that it is one, and a run against it is marked, so
// that nobody mistakes its figures for a GPU's.
//
// Exit codes: 0 or the signal's code after Ctrl-C; 2 for a deployment that does not
// exist; 4 where the port is taken.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/vllmsim"
)

type simulateFlags struct {
	kit.Call
	kit.Deployment
	kit.Engine
	servedName, host     string
	port, drafts         int
	acceptance           float64
	fixedTTFT, fixedTPOT *time.Duration
}

func SimulateCommand() *cli.Command {
	f := &simulateFlags{}
	return &cli.Command{
		Name:  "simulate",
		Usage: "a simulated vLLM over HTTP, as fast as a chosen GPU",
		Description: `Whatever is measured against it says so. With --fixed-ttft and --fixed-tpot
every token leaves at an exactly known time, to test clients; GET /sim/truth
tells when each answer's first and last token really left.

Example:
  tidemark simulate --gpu H200 --catalog-model llama-3.1-70b --quantization fp8`,
		Flags: slices.Concat(f.Deployment.Flags(), []cli.Flag{
			&cli.StringFlag{Name: "served-model-name", Usage: "answer to `NAME` (default: the model's)", Destination: &f.servedName},
			&cli.StringFlag{Name: "host", Usage: "listen on `HOST`", Value: "127.0.0.1", Destination: &f.host},
			&cli.IntFlag{Name: "port", Usage: "listen on `PORT`; 0 takes a free one", Value: 8000, Destination: &f.port},
		}, f.Engine.Flags(), []cli.Flag{
			&cli.IntFlag{Name: "num-speculative-tokens", Usage: "speculate: `DRAFTS` a step", Destination: &f.drafts, Action: kit.AtLeastOne[int]("num-speculative-tokens")},
			&cli.Float64Flag{Name: "acceptance-rate", Usage: "each is kept with this `CHANCE`, after those before it", Value: 0.7, Destination: &f.acceptance},
			&cli.DurationFlag{Name: "fixed-ttft", Usage: "first token exactly `50ms` after the request", Action: kit.Said(&f.fixedTTFT)},
			&cli.DurationFlag{Name: "fixed-tpot", Usage: "then a token exactly every `10ms`", Action: kit.Said(&f.fixedTPOT)},
			f.QuietFlag(),
		}),
		Action: f.Do(f.run),
	}
}

func (f *simulateFlags) run() error {
	if err := f.NoArguments("name the model by --catalog-model"); err != nil {
		return err
	}
	if f.port < 0 || f.port > 65535 {
		return hint.Misuse("simulate: --port %d: not a port", f.port).Hint("--port 8000, or --port 0 for a free one")
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.host, fmt.Sprint(f.port)))
	if err != nil {
		return hint.Errorf("simulate: %w", err).Hint("take another --port, or --port 0 for a free one")
	}
	return serve(&f.Call, config, listener)
}

// serve ends without an error when the user stops it.
func serve(c *kit.Call, config vllmsim.Config, listener net.Listener) error {
	server, err := vllmsim.New(config)
	if err != nil {
		listener.Close()
		return err
	}
	c.Tell("simulated vLLM at http://%s, model %s; Ctrl-C ends it", listener.Addr(), config.Model)
	stop := context.AfterFunc(c.Context, func() { server.Close() })
	defer stop()
	err = server.Serve(listener)
	if c.Context.Err() != nil {
		return nil
	}
	return err
}

// config takes the GPU and model of the demo where none is named.
func (f *simulateFlags) config() (vllmsim.Config, error) {
	if (f.fixedTTFT == nil) != (f.fixedTPOT == nil) {
		return vllmsim.Config{}, hint.Misuse("--fixed-ttft and --fixed-tpot go together")
	}
	switch {
	case f.IsGiven("acceptance-rate") && f.drafts == 0:
		return vllmsim.Config{}, hint.Misuse("simulate: --acceptance-rate needs --num-speculative-tokens").Hint("how many tokens the engine guesses a step")
	case f.acceptance < 0 || f.acceptance > 1:
		return vllmsim.Config{}, hint.Misuse("simulate: --acceptance-rate %v: not a chance from 0 to 1", f.acceptance)
	case f.drafts > 0 && f.fixedTTFT != nil:
		return vllmsim.Config{}, hint.Misuse("simulate: --num-speculative-tokens means nothing beside fixed times")
	}
	d := f.Said
	d.GPU, d.CatalogModel = cmp.Or(d.GPU, DemoDeployment.GPU), cmp.Or(d.CatalogModel, DemoDeployment.CatalogModel)
	config, err := SimulatorOf(f.Context, d)
	if err != nil {
		return config, err
	}
	if f.servedName != "" {
		config.Model = f.servedName
	}
	config.MaxModelLen = cmp.Or(d.MaxModelLen, 131072)
	f.Engine.Set(&config.Config)
	config.Drafts, config.Acceptance = f.drafts, f.acceptance
	if f.fixedTTFT != nil {
		config.Fixed = &vllmsim.Fixed{TTFT: *f.fixedTTFT, TPOT: *f.fixedTPOT}
		config.RecordTruth = true
		// It stands for no GPU: nothing that is measured against it may be compared with one.
		config.Simulates = map[string]any{"engine": "fixed times"}
	}
	return config, nil
}

// simulatedVersion is the version of vLLM that a simulator reports unless a flag names
// another: the one whose wire format it was tested against.
const simulatedVersion = "0.32.0"

// SimulatorOf gives the simulator its step time: the SQL model, evaluated once,
// so that no step asks the database.
func SimulatorOf(ctx context.Context, d deployment.Deployment) (vllmsim.Config, error) {
	var config vllmsim.Config
	err := kit.InCatalogue(ctx, func(w *warehouse.Warehouse) (err error) {
		var cost analysis.StepCost
		if cost, config.Config, err = engineOf(ctx, w, d); err != nil {
			return err
		}
		config.Simulates, err = asMap(cost.Deployment)
		return err
	})
	return config, err
}

// engineOf is the engine of one server as the warehouse's catalogue and calibrations have it, with the cost of its steps, which has the deployment in the
// catalogue's names.
func engineOf(ctx context.Context, w *warehouse.Warehouse, d deployment.Deployment) (analysis.StepCost, engine.Config, error) {
	if d.EngineVersion == "" {
		d.EngineVersion = simulatedVersion
	}
	cost, err := analysis.LoadStepCost(ctx, w.DB(), d)
	if err != nil {
		return cost, engine.Config{}, err
	}
	config := cost.Engine()
	config.Model, config.Version = cost.Deployment.ModelName(), cost.Deployment.EngineVersion
	return cost, config, nil
}

// asMap is the deployment under the names that a run's environment uses.
func asMap(d deployment.Deployment) (map[string]any, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(text, &m)
}

// DemoDeployment is a single H100 with an 8B model, the most common small one.
var DemoDeployment = deployment.Deployment{
	GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Engine: "vllm",
}
