package results

import (
	"encoding/json"

	"tidemark/ingest/read"
)

// guideSearch is what the goodput profile found: it doubles the concurrency until too few
// requests meet the objectives, and halves its steps from there. Each probe is the
// benchmark of the same place in the report. Another profile, or another version, may
// write something else there, so nothing of it is required.
type guideSearch struct {
	Probes  []guideProbe `json:"probes"`
	Best    read.Number  `json:"best_passing_streams"`
	Worst   read.Number  `json:"lowest_failing_streams"`
	Stopped read.Text    `json:"stop_reason"`
}

// guideProbe is one concurrency that was tried. Resolved says that its confidence
// interval lies on one side of the target.
type guideProbe struct {
	Streams  read.Number `json:"streams"`
	Passed   bool        `json:"passed"`
	Resolved bool        `json:"resolved"`
	Aborted  bool        `json:"aborted"`
}

// UnmarshalJSON takes anything that is not such a search for none.
func (s *guideSearch) UnmarshalJSON(text []byte) error {
	type plain guideSearch
	var search plain
	if json.Unmarshal(text, &search) == nil {
		*s = guideSearch(search)
	}
	return nil
}

// tell adds what the search said of a benchmark to its settings. It is the search's
// verdict by its own objectives.
func (s *guideSearch) tell(flat map[string]any, benchmark int64) {
	if benchmark <= int64(len(s.Probes)) {
		probe := s.Probes[benchmark-1]
		flat["probe.passed"], flat["probe.resolved"], flat["probe.aborted"] = probe.Passed, probe.Resolved, probe.Aborted
	}
}

// goodput adds the end of a search as a point of its own, and says where it is only a
// bound.
func (r *guideReport) goodput(out *read.Rows) error {
	s := &r.Search
	if len(s.Probes) == 0 {
		return nil
	}
	flat := map[string]any{"stop_reason": string(s.Stopped), "profile": "goodput"}
	keep(flat, r.Config.Object("spec", "profile"), "target_attainment", "tolerance", "confidence")
	s.warn(out)
	out.Add(Point{
		Tool: "guidellm", ToolVersion: read.WordOrNil(string(r.Metadata.Version)), Label: new("goodput search"),
		Load: new("closed"), MaxConcurrency: s.Best.Count(), Settings: read.Settings(flat),
	})
	addFigure(out, "search.best_passing_streams", "value", "requests", s.Best)
	addFigure(out, "search.lowest_failing_streams", "value", "requests", s.Worst)
	return out.Err()
}

// warn tells what keeps the search's answer from being one.
func (s *guideSearch) warn(out *read.Rows) {
	unresolved := 0
	for _, probe := range s.Probes {
		switch {
		case probe.Aborted:
			out.Note("the probe at %.0f streams was broken off: what was cancelled is not in its attainment, which looks too good", probe.Streams.Value)
		case !probe.Resolved:
			unresolved++
		}
	}
	if unresolved > 0 {
		out.Note("%d of %d probes had too few requests to say on which side of the target they are", unresolved, len(s.Probes))
	}
	switch {
	case !s.Best.Known:
		out.Note("the search found no concurrency that meets the objectives")
	case s.Stopped != "converged":
		out.Note("the search stopped before it converged: %.0f streams is a lower bound", s.Best.Value)
	}
}

// guideAttainment adds the shares of requests within the objectives. They are not
// distributions, as the other metrics are.
func guideAttainment(out *read.Rows, metrics read.Object) {
	addFigure(out, "slo_attainment", "value", "ratio", metrics.Number("slo_attainment"))
	if determined := metrics.Number("slo_determined_requests"); determined.Value > 0 {
		addFigure(out, "slo_determined_requests", "value", "requests", determined)
	}
	byMetric := metrics.Object("slo_attainment_by_metric")
	for _, key := range read.SortedKeys(byMetric) {
		addFigure(out, "slo_attainment_by_metric."+key, "value", "ratio", byMetric.Number(key, "attainment"))
	}
}
