package send

// The verb doctor looks whether an hour of load would be worth its time: this machine (replay/host/fitness.go), the server
// (replay/examine.go), Prometheus and the warehouse. Replay and capacity tell the machine's faults too before they send, and
// what their own questions to the server show.
//
// Exit codes: 0, also with notes; 1 where a fault would spoil an hour of load; 2 misuse.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week/service"
	"tidemark/ingest/collect"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/host"
)

type doctorFlags struct {
	kit.Call
	kit.Target
	prometheus, authFile, service string
	findings                      []host.Finding
}

// Machine looks at this machine. Tests put another one here.
var Machine = host.Examine

func DoctorCommand() *cli.Command {
	f := &doctorFlags{}
	notAsked := []string{"route", "class-environment", "body", "max-concurrency", "history", "cache", "drain-timeout", "slo", "max-failures", "max-lateness", "max-stall", "warm-up", "on-dead",
		"name", "note", "vocab-size", "between-bytes-timeout"}
	return &cli.Command{
		Name:  "doctor",
		Usage: "are this machine, server and key fit for an hour of load?",
		Description: `Looks at this machine (cores, clock, disk, open files, how late it is over
loopback), and at what is named: the server, Prometheus, the warehouse. The
server gets three small requests and two with a wrong field. Each line says
what was looked at, the answer, and when it is bad what to do. Exits 1 where
a fault would spoil an hour of load. replay and capacity tell the faults that
cost no request themselves, before they send.

Example:
  tidemark doctor --base-url http://gpu1:8000 --model llama`,
		Flags: f.TableFlags(append(kit.Without(f.Target.Flags(), notAsked...),
			&cli.StringFlag{Name: "prometheus", Usage: "the Prometheus server, as `http://host:9090`", Destination: &f.prometheus},
			&cli.StringFlag{Name: "prometheus-auth-file", Usage: "`FILE` with its token, or with lines of user: and password:", Destination: &f.authFile},
			&cli.StringFlag{Name: "service", Usage: "take Prometheus and its selector from the service `FILE`", Destination: &f.service},
		)...),
		Action: f.Do(f.run),
	}
}

func (f *doctorFlags) run() error {
	if err := f.NoArguments("tidemark doctor --base-url http://gpu1:8000"); err != nil {
		return err
	}
	prometheus, err := f.prometheusAsked()
	if err != nil {
		return err
	}
	if f.To.Model != "" && len(f.BaseURLs.Value()) == 0 {
		return hint.Misuse("doctor: --model needs --base-url").Hint("tidemark doctor --base-url http://gpu1:8000 --model %s", f.To.Model)
	}
	settings, err := f.settings()
	if err != nil {
		return err
	}
	machine, err := Machine(f.Context, f.Runs, time.Second)
	if err != nil {
		return fmt.Errorf("doctor: loopback: %w", err)
	}
	for _, finding := range machine.Findings() {
		f.found(finding)
	}
	if len(settings.BaseURLs) > 0 {
		if err := replay.Examine(f.Context, settings, f.found); err != nil {
			return err
		}
	}
	if prometheus.URL != "" {
		f.found(f.lookAtPrometheus(prometheus))
	}
	f.found(f.lookAtWarehouse())
	return f.conclude()
}

// settings need no server: without one, the machine is looked at alone.
func (f *doctorFlags) settings() (replay.Settings, error) {
	if len(f.BaseURLs.Value()) == 0 {
		return replay.Settings{}, nil
	}
	return f.Settings(&f.Call, "", "")
}

func (f *doctorFlags) prometheusAsked() (s collect.Settings, err error) {
	if f.service != "" {
		file, err := service.Read(f.service)
		if err != nil {
			return s, err
		}
		s.URL, s.Selector = file.Metrics, file.MetricsSelector
	}
	if f.prometheus != "" {
		s.URL = f.prometheus
	}
	if s.Auth, err = collect.ReadAuth(f.authFile, collect.Environment); err != nil {
		return s, err
	}
	return s, nil
}

func (f *doctorFlags) lookAtPrometheus(s collect.Settings) host.Finding {
	finding := host.Finding{Of: "prometheus", What: "series", Level: host.Good}
	names, err := collect.Look(f.Context, s)
	if err != nil {
		finding.Level, finding.Answer, finding.Todo = host.Fault, strings.TrimPrefix(err.Error(), "collect: "), hint.Of(err)
		return finding
	}
	finding.Answer = show.Things(names, "metric", "metrics") + " of an engine in the last hour"
	return finding
}

// lookAtWarehouse does not wait for whoever holds it.
func (f *doctorFlags) lookAtWarehouse() host.Finding {
	finding := host.Finding{Of: "warehouse", What: "opens", Level: host.Good, Answer: f.Call.Warehouse + " is of this version"}
	if _, err := os.Stat(f.Call.Warehouse); errors.Is(err, fs.ErrNotExist) && !f.IsGiven("warehouse") {
		finding.Answer = f.Call.Warehouse + " is not there yet: the first verb that writes makes it"
		return finding
	}
	w, err := warehouse.Open(f.Context, f.Call.Warehouse, warehouse.AnyVersion)
	switch {
	case errors.Is(err, warehouse.ErrHeld):
		finding.Level, finding.Answer, finding.Todo = host.Note, err.Error(), "let that process end, or raise --wait: a run is kept on disk, and ingested when the warehouse is free"
	case err != nil:
		finding.Level, finding.Answer, finding.Todo = host.Fault, err.Error(), hint.Of(err)
	case w.IsOfOtherVersion():
		finding.Level, finding.Answer, finding.Todo = host.Note, f.Call.Warehouse+" is of another version of tidemark", "bring it to this one: tidemark warehouse upgrade"+f.WarehouseWords()
	}
	if err == nil {
		err = w.Close()
	}
	finding.Answer = strings.TrimPrefix(finding.Answer, "warehouse ")
	return finding
}

// found prints a finding for people as soon as it is known.
func (f *doctorFlags) found(finding host.Finding) {
	f.findings = append(f.findings, finding)
	if f.IsForPrograms() {
		return
	}
	const column = 31
	var b strings.Builder
	name := fmt.Sprintf("%-5s %-10s %-12s", finding.Level, finding.Of, finding.What)
	kit.Labelled(&b, name, column, finding.Answer, terminal.Width(f.App.Writer))
	if finding.Todo != "" {
		kit.Labelled(&b, "", column, "-> "+finding.Todo, terminal.Width(f.App.Writer))
	}
	fmt.Fprint(f.App.Writer, b.String())
}

func (f *doctorFlags) conclude() error {
	if f.IsForPrograms() {
		table := kit.TableOf("of", "what", "level", "answer", "todo")
		for _, finding := range f.findings {
			table.Rows = append(table.Rows, []any{finding.Of, finding.What, string(finding.Level), finding.Answer, kit.OrNull(finding.Todo)})
		}
		if err := f.PrintTable(table); err != nil {
			return err
		}
	}
	faults := slices.DeleteFunc(slices.Clone(f.findings), func(one host.Finding) bool { return one.Level != host.Fault })
	if len(faults) == 0 {
		f.Remark("nothing here would spoil an hour of load")
		return nil
	}
	f.Remark("%s would spoil an hour of load", show.Things(len(faults), "fault", "faults"))
	return kit.ExitError{Code: kit.ExitNotMet}
}

// tellFaults tells the faults of this machine before anything is sent.
func tellFaults(c *kit.Call, runs string) {
	machine, _ := Machine(c.Context, runs, 0) // nothing is measured, so nothing fails
	for _, finding := range machine.Findings() {
		if finding.Level == host.Fault {
			c.Tell("this %s: %s: %s; %s", finding.Of, finding.What, finding.Answer, finding.Todo)
		}
	}
}
