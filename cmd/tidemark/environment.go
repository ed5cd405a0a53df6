package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/warehouse"
	"tidemark/replay"
)

// environmentFlags name the hardware and the model that a server runs on.
func environmentFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "environment", Usage: "JSON `FILE` that names what follows"},
		&cli.StringFlag{Name: "gpu", Usage: "`GPU` as in seeds.gpus: H100, H200, ..."},
		&cli.StringFlag{Name: "catalog-model", Usage: "`MODEL` as in seeds.models (llama-3.1-8b, ...), or the path of its config.json"},
		&cli.IntFlag{Name: "tensor-parallel-size", Usage: "GPUs that share one replica", Value: 1},
		&cli.StringFlag{Name: "quantization", Usage: "`FORMAT` of the weights as in seeds.formats (default: the model's own)"},
		&cli.StringFlag{Name: "kv-cache-dtype", Usage: "`FORMAT` of the KV cache (default: bf16)"},
		&cli.StringFlag{Name: "engine-version", Usage: "vLLM's `VERSION`"},
		&cli.IntFlag{Name: "max-num-seqs", Usage: "sequences in a batch at most (0: vLLM's default)"},
		&cli.IntFlag{Name: "max-num-batched-tokens", Usage: "tokens in a step at most (0: vLLM's default)"},
	}
}

// deploymentFlags name the deployment that a verb is asked about; its --model is the catalogue's, there is no served one.
func deploymentFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "gpu", Usage: "`GPU` as in seeds.gpus: H100, H200, ..."},
		&cli.StringFlag{Name: "model", Aliases: []string{"catalog-model"}, Usage: "`MODEL` as in seeds.models (llama-3.1-8b, ...), or the path of its config.json"},
	}, environmentFlags()[3:]...)
}

// deploymentOf reads the flags above; ok is false when neither GPU nor model is
// named.
func deploymentOf(c *cli.Context) (d analysis.Deployment, ok bool, err error) {
	gpu, model := c.String("gpu"), c.String("catalog-model")
	for _, flag := range []string{"tensor-parallel-size", "max-num-seqs", "max-num-batched-tokens"} {
		if c.IsSet(flag) && c.Int(flag) < 1 {
			return d, false, hint.Misuse("%s: --%s must be at least 1", c.Command.Name, flag)
		}
	}
	if gpu == "" && model == "" {
		return d, false, nil
	}
	if gpu == "" || model == "" {
		return d, false, hint.Misuse("%s: --gpu and --%s go together", c.Command.Name, modelFlag(c)).
			Hint(`tidemark sql "select gpu from seeds.gpus"; tidemark sql "select model from seeds.models"`)
	}
	return analysis.Deployment{
		GPU: gpu, Model: model, TensorParallelSize: c.Int("tensor-parallel-size"),
		WeightFormat: c.String("quantization"), KVFormat: c.String("kv-cache-dtype"),
		Engine: "vllm", EngineVersion: c.String("engine-version"),
		MaxNumSeqs: c.Int("max-num-seqs"), MaxNumBatchedTokens: c.Int("max-num-batched-tokens"),
	}, true, nil
}

// modelFlag is what a verb calls the model of the catalogue.
func modelFlag(c *cli.Context) string {
	if slices.ContainsFunc(c.Command.Flags, func(flag cli.Flag) bool { return flag.Names()[0] == "catalog-model" }) {
		return "catalog-model"
	}
	return "model"
}

// inMemory gives a function the catalogue and the model without a file.
func inMemory(ctx context.Context, use func(*warehouse.Warehouse) error) error {
	w, err := warehouse.Open(ctx, ":memory:", warehouse.ReadWrite)
	if err != nil {
		return err
	}
	defer w.Close()
	return use(w)
}

// inCatalogue gives a function the seeds and the macros alone, much faster.
func inCatalogue(ctx context.Context, use func(*warehouse.Warehouse) error) error {
	w, err := warehouse.Catalogue(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return use(w)
}

// namedEnvironment is what a run is on by --environment or the flags, not yet
// checked against the catalogue; nil for a draft.
func namedEnvironment(c *cli.Context) (environment *replay.Environment, source string, err error) {
	d, named, err := deploymentOf(c)
	path := c.String("environment")
	switch {
	case err != nil || path == "" && !named:
		return nil, "", err
	case path == "":
		return environmentFrom(d), "flags", nil
	case named:
		return nil, "", hint.Misuse("--environment and --gpu, --catalog-model exclude each other")
	}
	if environment, err = environmentFile(path); err != nil {
		return nil, "", fmt.Errorf("environment %s: %w", path, err)
	}
	return environment, "file", nil
}

func environmentFile(path string) (*replay.Environment, error) {
	file, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var environment replay.Environment
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&environment); err != nil {
		return nil, hint.Misuse("%w", err).Hint(`it is JSON, like {"gpu": "H100", "catalog_model": "llama-3.1-8b", "tensor_parallel_size": 1}`)
	}
	return &environment, nil
}

func environmentFrom(d analysis.Deployment) *replay.Environment {
	return &replay.Environment{
		GPU: d.GPU, CatalogModel: d.Model, TensorParallelSize: d.TensorParallelSize,
		Quantization: d.WeightFormat, KVCacheDtype: d.KVFormat, Engine: d.Engine, EngineVersion: d.EngineVersion,
		MaxNumSeqs: d.MaxNumSeqs, MaxNumBatchedTokens: d.MaxNumBatchedTokens,
	}
}

func deploymentFrom(e replay.Environment) analysis.Deployment {
	return analysis.Deployment{
		GPU: e.GPU, Model: e.CatalogModel, TensorParallelSize: e.TensorParallelSize,
		WeightFormat: e.Quantization, KVFormat: e.KVCacheDtype, Engine: e.Engine, EngineVersion: e.EngineVersion,
		MaxNumSeqs: e.MaxNumSeqs, MaxNumBatchedTokens: e.MaxNumBatchedTokens,
	}
}
