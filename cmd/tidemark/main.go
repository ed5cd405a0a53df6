// Command tidemark replays production traffic shapes against a vLLM server and
// compares what it measures with what memory bandwidth allows.
//
// A verb is a file in a room of verbs: its flags, the calls to the packages that do
// the work, what is printed, and the exit code. Nothing there measures, parses or
// computes.
//
//	verbs/take   takes traces, metrics and results in, and looks at what leaves
//	verbs/send   plans, sends, rehearses, and searches for the capacity
//	verbs/model  asks the model of bandwidth
//	verbs/read   reads runs, reports and tables; serves them
//	verbs/keep   keeps house: checks, upgrades, publishes
//	demo.go      the whole journey, by the other verbs
//
// What verbs share is in internal/cli/kit.
//
// Two signals: the first cancels the context, and a verb comes to an orderly end (a
// replay stops sending and lets streams finish). The second ends the program at
// once. Files are complete in both cases.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/urfave/cli/v2"
	_ "golang.org/x/crypto/x509roots/fallback" // of machines that have no certificates, such as the image

	"tidemark/cmd/tidemark/verbs/keep"
	"tidemark/cmd/tidemark/verbs/model"
	"tidemark/cmd/tidemark/verbs/read"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/cmd/tidemark/verbs/take"
	"tidemark/ingest"
	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/serve/pages"
	"tidemark/internal/serve/worker"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// main runs the program, unless this process is a child that reads a foreign file
// for ingest, or a worker of serve.
func main() {
	debug.SetTraceback("crash") // a crash ends by SIGABRT, 134: Go's own exit code for it, 2, is a mistake in the command here
	ingest.Child()              // does not return in such a child
	worker.Child(pages.Reporter(kit.Version))
	kit.EndsAfterVerb = true
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program as a function; tests call it in place of main.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A file-size limit is treated like a full disk: without this the signal would
	// kill the program; with it the write fails with an error.
	signal.Ignore(syscall.SIGXFSZ)
	stop := kit.WatchSignals()
	defer stop.Release()

	out := terminal.New(stdout, stderr, stop.Soft.Done())
	defer out.Close()

	app := newApp(stdin, out.Stdout, out.Stderr)
	commandline.TellNewName(out.Stderr, app, args)
	err := app.RunContext(kit.WithStop(context.Background(), stop), helpAlone(commandline.FlagsFirst(app, args)))
	if printErr := out.Flush(); printErr != nil {
		err = printErr // the reader of stdout has an incomplete answer, whatever the verb returned
	}
	code := kit.ExitCode(err)
	if signalled := stop.Code(); signalled != 0 {
		code = signalled
	}
	if isWorthSaying(err, code) {
		kit.PrintError(out.Stderr, err)
	}
	return code
}

// helpAlone drops the arguments of a verb whose help is asked for, as in "replay azure --help" and "help k8s manifest": urfave
// would look for a topic of that name.
func helpAlone(args []string) []string {
	end := slices.Index(args, "--")
	if end < 2 {
		return args
	}
	asked := slices.ContainsFunc(args[2:end], func(arg string) bool { return arg == "--help" || arg == "-h" })
	if asked || len(args) > end+1 && args[end+1] == "help" {
		return []string{args[0], args[1], "--help"}
	}
	return args
}

// newApp builds the command line. An experiment runs replay inside this process and builds
// one of its own for each row, so that no value of the last row stays in a flag.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	commandline.FitTo(stdout)
	app := &cli.App{
		Name:      "tidemark",
		Usage:     "replay LLM traffic; compare TPOT with what memory bandwidth allows",
		Version:   kit.Version,
		Reader:    stdin,
		Writer:    stdout,
		ErrWriter: stderr,
		Suggest:   true,
		// A comma belongs to a header's value.
		DisableSliceFlagSeparator: true,
		Commands:                  verbs(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return commandline.UnknownVerb(c.App, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
		// run prints and exits; urfave would do both by itself.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return commandline.UsageErrorWithoutVerb(err) },
	}
	app.CustomAppHelpTemplate = commandline.Overview(app)
	kit.WithMaker(app, newApp)
	layOut := map[string]func(){}
	app.Before = func(c *cli.Context) error {
		for _, name := range c.Args().Slice() { // the verb, or what "help" is asked about
			if help := layOut[name]; help != nil {
				help()
			}
		}
		return nil
	}
	for _, command := range app.Commands {
		layOut[command.Name] = commandline.ShortHelp(command, strings.Fields(mostUsed[command.Name])...)
		command.OnUsageError = func(c *cli.Context, err error, _ bool) error {
			return commandline.UsageError(c, err)
		}
	}
	return app
}

// verbs are all of them, under what one wants. A verb below another has both names in its own, such as "predict fit".
func verbs() []*cli.Command {
	return slices.Concat(
		commandline.Under("Take in", take.IngestCommand(), take.SourcesCommand()),
		commandline.Under("Send", send.DoctorCommand(), send.PlanCommand(), send.ProfileCommand(), send.ReplayCommand(), send.CapacityCommand(), send.TuneCommand(), send.StudyCommand(), send.SimulateCommand()),
		commandline.Under("Ask the model", model.PredictCommand(), model.FitCommand(), model.KVCommand(), model.QueueCommand(), model.WhatIfCommand(), send.RehearseCommand(), model.CalibrateCommand()),
		commandline.Under("Read", read.RunsCommand(), read.DiagnoseCommand(), read.LintCommand(), read.CompareCommand(), read.ReportCommand(), read.SQLCommand(), read.ServeCommand()),
		commandline.Under("Weekly", take.CollectCommand(), read.DriftCommand(), read.DecideCommand()),
		commandline.Under("Keep house", keep.WarehouseCommand(), keep.CheckCommand(), keep.UpgradeCommand(), keep.PublishCommand(), take.PurgeCommand()),
		commandline.Under("", demoCommand(), read.SchemaCommand(), read.ExportCommand(), send.ExperimentCommand(), send.K8sCommand(), take.PrivacyCommand(), commandline.CompletionCommand(), commandline.ManualCommand(), commandline.VersionCommand(about)),
	)
}

func about() commandline.About {
	return commandline.About{Version: kit.Version, Stamp: queries.Stamp(), DuckDB: strings.TrimPrefix(duckdb.LibraryVersion(), "v")}
}

// mostUsed are the flags that the help of a verb shows where not all of them fit on a screen, the most important first.
var mostUsed = map[string]string{
	"replay":        "base-url model gpu catalog-model duration request-rate slo name steps",
	"capacity":      "slo base-url model gpu catalog-model budget from dry-run",
	"tune":          "rehearsed all restart",
	"rehearse":      "gpu catalog-model duration request-rate scale replicas keep slo",
	"what-if":       "gpu catalog-model tensor-parallel-size quantization replicas slo duration",
	"plan":          "output duration from until request-rate speed limit mode",
	"predict queue": "utilization arrival-rate service-time servers service-cv gpu catalog-model",
	"predict":       "gpu catalog-model tensor-parallel-size quantization concurrency request-rate input-tokens output-tokens points",
	"calibrate":     "points gpu catalog-model tensor-parallel-size quantization dry-run list",
	"predict fit":   "gpu catalog-model tensor-parallel-size quantization kv-cache-dtype tokens memory",
	"predict kv":    "catalog-model tokens gpu kv-cache-dtype layers heads head-dim",
	"ingest":        "name column environment text",
	"privacy":       "output as k time key-file strict",
	"profile":       "draw class source input-tokens output-tokens rate name output",
	"simulate":      "gpu catalog-model tensor-parallel-size quantization port host fixed-ttft fixed-tpot",
	"experiment":    "restart base-url model",
	"compare":       "fail-if-worse junit summary metrics force warehouse",
	"report":        "output service week source slo force warehouse",
	"collect":       "service since until prometheus-auth-file",
	"doctor":        "base-url model prometheus service api-key-file warehouse",
	"k8s":           "shards image claim results start-at base-url model slo",
	"serve":         "port host token-file no-token published timeout",
}

// isWorthSaying is false for a bare exit code, and for the cancellation that the
// user asked for.
func isWorthSaying(err error, code int) bool {
	if coded, isCode := err.(kit.ExitError); isCode && coded.Err == nil {
		return false
	}
	return err != nil && !(code > 128 && (errors.Is(err, context.Canceled) || warehouse.WasInterrupted(err)))
}
