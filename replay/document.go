// run.json: what was asked for, what the servers said, and what came of it. It is written first of all files and again at
// the end, each time to a new name and renamed, so that a reader never sees half of it. A killed run is one whose document
// still says "running". Keys are a format that scripts read (docs/files.md): they may be added, not renamed.

package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/engines"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/secrets"
)

// runSchema is the version of run.json. Keys may be added under the same version.
const runSchema = "tidemark.run/1"

// Environment is the deployment a run was measured on, in the words of the catalogue. Without one a run is a draft.
type Environment = deployment.Deployment

// Series says which step of an experiment a run is.
type Series struct {
	ID         string `json:"id"`         // the same for all its runs
	Name       string `json:"name"`       // of the experiment
	Hypothesis string `json:"hypothesis"` // what it is to show
	Variable   string `json:"variable"`   // the one setting that differs between rows
	Value      string `json:"value"`      // of it in this row
	Row        int    `json:"row"`        // 0-based
	Repeat     int    `json:"repeat"`     // 0-based
	Expect     Expect `json:"expect,omitzero"`
}

// Expect is a hypothesis in a form that can be judged: what the rows of an experiment are expected to show. What is empty is not expected.
type Expect struct {
	MetAt    string `json:"met_at,omitempty"`     // the value of a row that meets the SLO
	NotMetAt string `json:"not_met_at,omitempty"` // the value of a row that does not
	Binds    string `json:"binds,omitempty"`      // the metric that is furthest beyond its bound at the first row that does not meet the SLO
}

// Shard says which part of a plan a run sent, and when all parts began.
type Shard struct {
	Index            int        `json:"index"` // 0-based
	Count            int        `json:"count"`
	StartAt          string     `json:"start_at"`
	PlanFingerprint  string     `json:"plan_fingerprint"` // of the whole plan
	PlanRequests     int64      `json:"plan_requests"`
	PlanInputTokens  int64      `json:"plan_input_tokens"`
	PlanOutputTokens int64      `json:"plan_output_tokens"`
	Clock            host.Clock `json:"clock"`
}

// scrubbed is the series without secrets: a row's value may be a server's address.
func (s *Series) scrubbed(c secrets.Scrubber) *Series {
	if s == nil {
		return nil
	}
	clean := *s
	clean.Value = c.Text(s.Value)
	clean.Expect.MetAt, clean.Expect.NotMetAt = c.Text(s.Expect.MetAt), c.Text(s.Expect.NotMetAt)
	return &clean
}

// document is run.json.
type document struct {
	Schema            string                  `json:"schema"`
	RunID             string                  `json:"run_id"`
	Name              string                  `json:"name"`
	Note              string                  `json:"note"`
	Version           string                  `json:"tidemark_version"`
	StartedAt         string                  `json:"started_at"`
	EndedAt           string                  `json:"ended_at,omitempty"`
	Origin            string                  `json:"origin,omitempty"` // OriginRehearsed; empty: it was sent
	Status            string                  `json:"status"`
	StopReason        string                  `json:"stop_reason,omitempty"`
	StoppedBy         string                  `json:"stopped_by,omitempty"` // where it stopped by itself: server, client or set-up
	Gone              []absence               `json:"gone,omitempty"`       // servers that went while it ran
	Target            targetRecord            `json:"target"`
	Settings          settingsRecord          `json:"settings"`
	Plan              planRecord              `json:"plan"`
	Series            *Series                 `json:"series,omitempty"`
	Shard             *Shard                  `json:"shard,omitempty"`
	SLO               json.RawMessage         `json:"slo,omitempty"`
	Environment       *Environment            `json:"environment"`
	EnvironmentSource string                  `json:"environment_source"`
	Environments      map[string]*Environment `json:"environments,omitempty"` // of the models in target.models, by model
	Server            Server                  `json:"server"`
	Servers           []serverRecord          `json:"servers,omitempty"` // when there are several
	Effective         engines.Configuration   `json:"effective"`
	Readiness         readiness               `json:"readiness"`
	Prompts           *plan.ChatRecord        `json:"prompts,omitempty"` // of a chat
	Client            clientRecord            `json:"client"`
	Result            *Result                 `json:"result,omitempty"`
}

// targetRecord is where the plan was sent, in addresses without secrets.
type targetRecord struct {
	BaseURL  string            `json:"base_url"` // the first
	BaseURLs []string          `json:"base_urls"`
	Routes   map[string]string `json:"routes,omitempty"` // by class
	Endpoint string            `json:"endpoint"`
	Model    string            `json:"model"`
	Models   map[string]string `json:"models,omitempty"` // by class, instead of model
	// ReplicaHeader is the header that names the replica; requests then have its value as their endpoint.
	ReplicaHeader string `json:"replica_header,omitempty"`
	Routing       string `json:"routing,omitempty"` // over base_urls; absent: in turns
}

// serverRecord is one of several servers.
type serverRecord struct {
	BaseURL     string `json:"base_url"`
	Version     string `json:"version"`
	IsSimulated bool   `json:"is_simulated"`
	Unmodelled  string `json:"unmodelled,omitempty"` // what it runs with and the model of predictions has not, as engines.Configuration
	modelCard
}

// settingsRecord is what was asked for, defaults filled in. Durations are seconds.
type settingsRecord struct {
	Seed                 uint64          `json:"seed"`
	MaxLatenessS         float64         `json:"max_lateness_s"`
	MaxStallS            float64         `json:"max_stall_s"`
	MaxFailuresRatio     float64         `json:"max_failures_ratio"`
	OnDead               string          `json:"on_dead"`
	ConnectTimeoutS      float64         `json:"connect_timeout_s"`
	FirstByteTimeoutS    float64         `json:"first_byte_timeout_s"`
	BetweenBytesTimeoutS float64         `json:"between_bytes_timeout_s"`
	VocabLow             int             `json:"vocab_low"`
	VocabHigh            int             `json:"vocab_high"`
	WarmUpS              float64         `json:"warm_up_s"`
	Mode                 string          `json:"mode"`
	MaxConcurrency       int             `json:"max_concurrency"` // 0: no limit
	History              string          `json:"history"`
	Cache                string          `json:"cache"` // "": as it was
	DrainTimeoutS        float64         `json:"drain_timeout_s"`
	TokensCountedBy      string          `json:"tokens_counted_by"`
	Body                 json.RawMessage `json:"body,omitempty"` // fields that the user added to each request
	MetricsURLs          []string        `json:"metrics_urls"`
	Headers              []string        `json:"headers"` // names only
}

type planRecord struct {
	plan.Header
	Fingerprint string `json:"fingerprint"`
}

// clientRecord is the client's own software and machine.
type clientRecord struct {
	GoVersion  string `json:"go_version"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
}

// newDocument is written before anything is sent, so it holds no result yet. Everything in it that the user or a server
// wrote has gone through the scrubber.
func newDocument(s Settings, targets []target, plan *plan.Plan, ready prepared) document {
	server := ready.servers[0]
	countedBy := "token_ids"
	if s.CountByUsage {
		countedBy = "usage"
	}
	headers := []string{}
	for name := range s.Headers {
		headers = append(headers, name)
	}
	slices.Sort(headers)
	shown := make([]string, len(s.MetricsURLs))
	for i, address := range s.MetricsURLs {
		shown[i] = secrets.ShownURL(address)
	}
	scrub := s.scrubber() // what the user typed may hold a server's address with its token
	d := document{
		Schema: runSchema, RunID: s.RunID, Name: scrub.Text(s.Name), Note: scrub.Text(s.Note), Version: s.Version, Status: statusRunning,
		Target: newTargetRecord(s, targets),
		Settings: settingsRecord{s.Seed, s.MaxLateness.Seconds(), s.MaxStall.Seconds(), *s.MaxFailures, s.OnDead, s.ConnectTimeout.Seconds(), s.FirstByteTimeout.Seconds(),
			s.BetweenBytesTimeout.Seconds(), s.VocabLow, s.VocabHigh, s.WarmUp.Seconds(), s.Mode, s.MaxConcurrency, s.History, s.Cache,
			s.DrainTimeout.Seconds(), countedBy, scrub.JSON(s.Body), shown, headers},
		Plan:        planRecord{plan.Header(), plan.Fingerprint()},
		Environment: s.Environment, EnvironmentSource: s.EnvironmentSource,
		Series: s.Series.scrubbed(scrub), Shard: s.Shard, SLO: s.SLO,
		Server: server, Effective: ready.effective, Readiness: ready.readiness, Prompts: ready.wording,
		Client: clientRecord{runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0)},
	}
	if len(ready.servers) > 1 {
		for _, one := range ready.servers {
			d.Servers = append(d.Servers, one.record)
		}
	}
	if d.Environment != nil && s.Named.Engine == "" && server.engine.Name != engines.OpenAI.Name {
		known := *d.Environment
		known.Engine = server.engine.Name
		d.Environment = &known
	}
	if d.Environment == nil && server.Simulates != nil {
		d.Environment, d.EnvironmentSource = server.Simulates, "server"
	}
	d.Environments = environmentsOf(s, ready.servers)
	return d
}

// environmentsOf are what the models that classes ask for run on, with what their servers say of themselves where nothing was named. A model behind a
// server that runs with what is not modelled has none: nothing is predicted of it.
func environmentsOf(s Settings, servers []Server) (found map[string]*Environment) {
	for _, server := range servers {
		if server.record.Unmodelled != "" {
			continue
		}
		for _, model := range s.modelsAt(server.target) {
			named := s.Environments[model]
			if named == nil {
				named = server.Simulates
			}
			if model == s.Model || named == nil || found[model] != nil {
				continue
			}
			known := *named
			if server.engine.Name != engines.OpenAI.Name {
				engines.SetDefault(&known.Engine, server.engine.Name)
			}
			engines.SetDefault(&known.EngineVersion, server.Version)
			if found == nil {
				found = map[string]*Environment{}
			}
			found[model] = &known
		}
	}
	return found
}

func newTargetRecord(s Settings, targets []target) targetRecord {
	r := targetRecord{BaseURL: targets[0].shown(), Endpoint: s.Endpoint, Model: s.Model, Models: s.Models, ReplicaHeader: s.ReplicaHeader}
	if s.Routing != rehearsal.Turns {
		r.Routing = s.Routing
	}
	for _, address := range s.BaseURLs {
		r.BaseURLs = append(r.BaseURLs, shownTarget(address))
	}
	for class, address := range s.Routes {
		if r.Routes == nil {
			r.Routes = map[string]string{}
		}
		r.Routes[class] = shownTarget(address)
	}
	return r
}

// shownTarget is a base url as everything else of a run names it: without /v1.
func shownTarget(address string) string {
	t, _ := parseTarget(address) // Check has parsed it before
	return t.shown()
}

// stamp is an instant of the wall clock in UTC; all other times of a run are relative to its zero.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// write puts run.json in place as a whole: a reader sees the old one or the new one.
func (d document) write(folder string, create createFunc) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "run.json")
	file, err := create(path + ".new")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = cmp.Or(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		os.Remove(path + ".new")
		return fmt.Errorf("run: %s: %w", path, err)
	}
	return syncFolder(folder)
}

// syncFolder makes a rename last; not every file system offers it.
func syncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	dir.Sync()
	return nil
}
