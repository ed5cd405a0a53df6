package results

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// AgentPerfBench reads what AgentPerfBench's runner writes of one run: its config, a
// summary and its requests, with times in milliseconds.
//
// The traps. Its TPOT is the mean gap between chunks of a request, whatever is in a
// chunk. Latencies begin when the client has a free place, so waiting for one is not in
// them, and a rate that was asked for is held back by the places. Cached tokens are
// guessed from the prompt before, not told by the engine, so they are not taken as such.
// Turns go in step: no session begins its next turn before all have ended theirs.
var AgentPerfBench = read.Format{
	Name: "agentperfbench",
	Sees: func(h *read.Head) string {
		switch {
		case h.Has("config", "summary", "per_request"):
			return "a run of AgentPerfBench: config, summary, per_request"
		case h.Has("config", "per_turn"):
			return "AgentPerfBench's run by turns: config, per_turn"
		}
		return ""
	},
	Read:  readAgentPerf,
	Wants: `a JSON object with "config", "summary" and "per_request" (a result of AgentPerfBench's runner)`,
}

// agentPerfTimes are the summary's times: statistic and name.
var agentPerfTimes = lazy.Regexp(`^(mean|median|p\d{1,2})_(ttft|tpot|itl|e2el)_ms$`)

// agentPerfUnits are the summary's other figures.
var agentPerfUnits = map[string]string{
	"request_throughput": "requests/s", "input_token_throughput": "tokens/s", "output_token_throughput": "tokens/s",
	"total_token_throughput": "tokens/s", "total_input_tokens": "tokens", "total_output_tokens": "tokens",
}

// agentPerfRequest is one request; times are since the run's begin.
type agentPerfRequest struct {
	Succeeded bool          `json:"success"`
	TTFT      read.Number   `json:"ttft_ms"`
	Gaps      []read.Number `json:"itl_ms"`
	E2E       read.Number   `json:"e2el_ms"`
	Input     read.Number   `json:"input_tokens"`
	Output    read.Number   `json:"output_tokens"`
	Error     read.Text     `json:"error"`
	Due       read.Number   `json:"scheduled_at_ms"`
	Sent      read.Number   `json:"semaphore_acquired_at_ms"`
	Waited    read.Number   `json:"client_queue_wait_ms"`
	Session   read.Number   `json:"session_id"`
	Turn      read.Number   `json:"turn_index"`
}

// longWaitS is a wait in the client that is worth telling.
const longWaitS = 1

// agentPerf is the file on its way.
type agentPerf struct {
	config, summary read.Object
	seen            outcomes
	waited          int     // requests that waited long for a free place
	longestS        float64 // of these waits
}

// readAgentPerf reads the requests one at a time, because each has its gaps.
func readAgentPerf(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	run := &agentPerf{}
	stream := read.NewJSONStream(d.Reader())
	err := stream.Members(func(key string) error {
		switch key {
		case "config", "summary":
			text, err := stream.Value(nil, 0)
			part := read.ObjectOf(read.TreeOfPart(text))
			if key == "config" {
				run.config = part
			} else {
				run.summary = part
			}
			return err
		case "per_request":
			return run.requests(stream, out)
		case "per_turn":
			return hint.Errorf("a run's requests by turns").Hint("take in the file of the same name without _per_turn: it has every request with its turn").Mark(read.ErrUnknownFormat)
		}
		return stream.Skip()
	})
	if errors.Is(err, read.ErrNotJSON) {
		return hint.Errorf("not a whole result of AgentPerfBench").Hint("it is cut or broken; take it from its source again")
	}
	if err != nil {
		return err
	}
	return run.add(out)
}

// requests reads the list of requests.
func (r *agentPerf) requests(stream *read.JSONStream, out *read.Rows) error {
	if c, err := stream.Next(); err != nil || c != '[' {
		return errors.Join(err, stream.Skip())
	}
	number := int64(0)
	return stream.Elements(func() error {
		number++
		text, err := stream.Value(nil, 0)
		if err != nil {
			return err
		}
		var request agentPerfRequest
		if json.Unmarshal(text, &request) != nil {
			return out.Reject(number, "per_request", read.NotJSON)
		}
		if request.Error != "" {
			out.Text("error")
		}
		if wait := request.Waited.Value / 1e3; wait > longWaitS {
			r.waited++
			r.longestS = max(r.longestS, wait)
		}
		return r.seen.add(out, request.row(r.isTimed()))
	})
}

// isTimed says that requests were due at instants of their own; in a steady run all are
// due at the start and wait for a place.
func (r *agentPerf) isTimed() bool {
	arrival := r.config.Text("arrival")
	return r.mode() != "multi-turn" && (arrival == "poisson" || arrival == "ramp")
}

// mode is single-turn, multi-turn or stress-test.
func (r *agentPerf) mode() string { return r.config.Text("mode") }

// row reads one request. What it says of a cache is a guess and is left out.
func (q *agentPerfRequest) row(isTimed bool) Request {
	row := Request{
		StartedS: q.Sent.Times(1e-3), InputTokens: q.Input.Count(), OutputTokens: q.Output.Count(),
		TTFTS: q.TTFT.Times(1e-3), E2ES: q.E2E.Times(1e-3), Turn: read.Int32Of(q.Turn),
	}
	if isTimed {
		row.DueS = q.Due.Times(1e-3)
	}
	if id := q.Session.Count(); id != nil {
		row.SessionID = new(strconv.FormatInt(*id, 10))
	}
	if !q.Succeeded {
		row.Failure = failureOf(string(q.Error))
		if row.Failure == nil {
			row.Failure = new("error")
		}
		return row
	}
	for _, gap := range q.Gaps {
		row.ChunkGapsUs = append(row.ChunkGapsUs, microseconds(gap.Value/1e3))
	}
	return row
}

// add writes the run's point and its figures.
func (r *agentPerf) add(out *read.Rows) error {
	if r.summary == nil {
		return hint.Errorf("a result of AgentPerfBench without a summary").Hint("it is cut; take it from its source again")
	}
	if len(r.summary.List("errors")) > 0 {
		out.Text("errors")
	}
	row := r.point(out)
	out.Add(row)
	for _, key := range read.SortedKeys(r.summary) {
		value := r.summary.Number(key)
		if found := agentPerfTimes().FindStringSubmatch(key); found != nil {
			addFigure(out, found[2], statistic(found[1]), "ms", value)
		} else if unit := agentPerfUnits[key]; unit != "" {
			addFigure(out, key, "value", unit, value)
		}
	}
	return out.Err()
}

// point says what was asked.
func (r *agentPerf) point(out *read.Rows) Point {
	row := Point{
		Tool: "agentperfbench", Label: r.summary.Word("profile"), Model: r.config.ModelName("model"),
		MaxConcurrency: r.summary.Count("concurrency"), Requests: r.summary.Count("num_requests"),
		Completed: r.summary.Count("successful_requests"), Failed: r.summary.Count("failed_requests"),
		DurationS:          r.summary.Float("duration_s"),
		TensorParallelSize: r.config.Int32("tensor_parallel_size"),
	}
	if engine := r.config.Text("backend"); engine != "openai" { // a protocol, not an engine
		row.Engine = read.WordOrNil(engine)
	}
	r.load(&row, out)
	row.Settings = read.Settings(r.settings())
	return row
}

// load tells how requests were let go.
func (r *agentPerf) load(row *Point, out *read.Rows) {
	switch {
	case r.mode() == "multi-turn":
		row.Load = new("sessions")
		out.Note("turns went in step: no session began its next turn before all had ended theirs")
	case r.isTimed():
		row.Load = new("open")
		if r.config.Text("arrival") == "poisson" { // a ramp has no one rate
			row.RequestRatePerS = r.config.Float("target_rate")
		}
		if r.waited > 0 {
			out.Note("%d requests waited in the client for a free place for more than a second, up to %.3g s, which their latencies leave out: fewer were sent than asked for", r.waited, r.longestS)
		}
	default:
		row.Load = new("closed")
	}
}

// settings keeps the config without what the kind of run does not use.
func (r *agentPerf) settings() map[string]any {
	flat := map[string]any{}
	for _, key := range read.SortedKeys(r.config) {
		switch key {
		case "profile_metadata":
			read.Flatten(flat, "workload", r.config[key])
		case "prediction_metadata":
			read.Flatten(flat, "server", r.config[key])
		default:
			read.Flatten(flat, key, r.config[key])
		}
	}
	if arrival := r.config.Text("arrival"); r.mode() != "multi-turn" {
		flat["arrival_pattern"] = arrival
	} else {
		delete(flat, "num_requests") // sessions and turns say how many
	}
	if !r.isTimed() {
		delete(flat, "target_rate")
	}
	for key, value := range flat {
		again, isServers := strings.CutPrefix(key, "server.")
		if strings.HasSuffix(key, "_source") || isServers && flat[again] == value { // who set it; what the arguments said
			delete(flat, key)
		}
	}
	return flat
}
