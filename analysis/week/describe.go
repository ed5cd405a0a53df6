package week

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/deployment"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// describe fills what the report says of the service itself: what it runs on, what must hold, what it costs.
func (m *maker) describe() error {
	r, f := m.report, m.file
	resolved, err := analysis.Resolve(m.ctx, m.db, f.Deployment)
	if err != nil {
		return f.Mistake("deployment", err)
	}
	r.Deployment = describeDeployment(f.Deployment, resolved)
	r.SLO.Name, r.SLO.Allowed = m.slo.Name, m.allowed()
	for _, o := range m.slo.Objectives {
		r.SLO.Objectives = append(r.SLO.Objectives, Objective{
			Name: objectiveName(o), Metric: o.Metric, Percent: o.Percentile, AtMost: o.AtMost, Class: o.Class,
		})
	}
	week := m.weeks[0].week
	for i, paid := range f.Replicas {
		isOver := i+1 < len(f.Replicas) && !f.Replicas[i+1].From.After(week.Start())
		if !isOver && paid.From.Before(week.End()) {
			r.Replicas = append(r.Replicas, Replicas{From: paid.From, Replicas: paid.Replicas})
		}
	}
	if len(r.Replicas) == 0 { // all entries begin later
		r.Replicas = []Replicas{{Replicas: f.Replicas[0].Replicas}}
	}
	return m.readPrice()
}

// commands are those that the page names, as they run where the report was made. The search is of the busiest minutes of the busiest hour: reading
// a month of traffic for ten minutes takes minutes.
func (m *maker) commands() Commands {
	source, part := m.trafficOf(m.report.Sums.BusiestHourStart), []string(nil)
	if busiest := m.report.Sums.BusiestHourStart; busiest != nil {
		part = []string{"--from", busiest.UTC().Format(time.RFC3339), "--until", busiest.Add(time.Hour).UTC().Format(time.RFC3339), "--window", "10m"}
	}
	search := []string{"tidemark", "capacity", source, "--slo", m.file.SLO, "--base-url", cmp.Or(m.file.Server.BaseURL, "URL"), "--model", cmp.Or(m.file.Server.Model, "MODEL")}
	search = append(search, part...)
	for _, field := range deployment.Fields {
		if value := field.Get(m.file.Deployment); value != nil && field.Flag != "hbm-bandwidth" {
			search = append(search, "--"+field.Flag, fmt.Sprint(value))
		}
	}
	commands := Commands{Search: escape.ShellWords(search)}
	if m.file.Metrics != "" || m.file.Server.BaseURL != "" { // else there is nobody to ask
		commands.Collect = escape.ShellWords([]string{"tidemark", "collect", "--service", m.file.Path})
	}
	return commands
}

// trafficOf is a source of the service's traffic, the one that has a moment where it is known.
func (m *maker) trafficOf(moment *time.Time) string {
	if len(m.file.Traffic) == 0 { // what was collected can be replayed: lengths and rates
		return m.file.Service + ".prometheus"
	}
	source := "SOURCE"
	for _, s := range m.report.Sources {
		if s.Role != "traffic" || s.DuplicateOf != "" {
			continue
		}
		hasIt := moment != nil && s.From != nil && s.Until != nil && !s.From.After(moment.Add(time.Hour)) && !s.Until.Before(*moment)
		if source == "SOURCE" || hasIt {
			source = s.Name
		}
		if hasIt {
			break
		}
	}
	return source
}

// objectiveName is written as marts.slo does: p99 ttft_from_due.
func objectiveName(o analysis.Objective) string {
	name := o.Metric
	if o.Percentile > 0 {
		name = fmt.Sprintf("p%g %s", o.Percentile, o.Metric)
	}
	if o.Class != "" {
		name += " of class " + o.Class
	}
	return name
}

// leaveOutObjectives takes objectives of classes that no request of the week has from the page, with a note. It is a mistake where none is left.
func (m *maker) leaveOutObjectives() error {
	isThere := map[string]bool{"": true}
	for _, h := range m.weeks[len(m.weeks)-1].demand.Hours {
		for class := range h.Classes {
			isThere[class] = true
		}
	}
	r := m.report
	var kept []Objective
	isLatency := false
	for _, o := range r.SLO.Objectives {
		if isThere[o.Class] || r.Sums.Requests == 0 {
			kept = append(kept, o)
			isLatency = isLatency || o.Metric != metric.FailureRatio
			continue
		}
		r.Notes = append(r.Notes, fmt.Sprintf("The objective %s is left out: no request of this week is of that class.", o.Name))
	}
	if len(kept) < len(r.SLO.Objectives) && !isLatency {
		return m.file.Mistake("slo", hint.Errorf("slo %s: its objectives are of classes that no request of the week has", r.SLO.Name).
			Hint("%s", thereAre("class", "classes", slices.Sorted(maps.Keys(isThere)))))
	}
	r.SLO.Objectives = kept
	return nil
}

// modelName is a catalogue's name as people write it: llama-3.1-70b is Llama 3.1 70B.
func modelName(id string) string {
	words := strings.Split(id, "-")
	for i, word := range words {
		size, isSize := strings.CutSuffix(word, "b")
		if _, err := strconv.ParseFloat(size, 64); isSize && err == nil {
			words[i] = size + "B"
		} else if word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}

var engineNames = map[string]string{"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}

func describeDeployment(said, resolved deployment.Deployment) Deployment {
	d := Deployment{
		GPU: resolved.GPU, Model: resolved.ModelName(), ModelName: modelName(resolved.ModelName()), Quantization: resolved.Quantization,
		GPUsPerReplica: resolved.GPUs(), TensorParallel: max(resolved.TensorParallelSize, 1), MaxNumSeqs: said.MaxNumSeqs,
		Engine: cmp.Or(resolved.Engine, "vllm"), EngineVersion: said.EngineVersion, IsSaidByTheFile: true,
	}
	gpus := d.GPU
	if d.GPUsPerReplica > 1 {
		gpus = fmt.Sprintf("%d x %s", d.GPUsPerReplica, d.GPU)
	}
	d.InWords = strings.Join(slices.DeleteFunc([]string{
		gpus, strings.TrimSpace(d.ModelName + " " + d.Quantization), strings.TrimSpace(cmp.Or(engineNames[d.Engine], d.Engine) + " " + d.EngineVersion),
	}, func(s string) bool { return s == "" }), ", ")
	return d
}

// readPrice takes the service's price before the SLO's, and that before the catalogue's.
func (m *maker) readPrice() error {
	p := &m.report.Price
	switch {
	case m.file.Price.USDPerGPUHour > 0:
		p.USDPerGPUHour, p.Source = &m.file.Price.USDPerGPUHour, cmp.Or(m.file.Price.Source, "the service file")
		return nil
	case m.slo.Cost != nil:
		p.USDPerGPUHour, p.Source = &m.slo.Cost.PerGPUHour, "the SLO file"
		return nil
	}
	err := m.conn.QueryRowContext(m.ctx, "select usd_per_gpu_hour, label from macros.prices() where gpu = ? and place = 1", m.report.Deployment.GPU).
		Scan(&p.USDPerGPUHour, &p.Source)
	if err == sql.ErrNoRows {
		err = nil
	}
	return err
}

// describeSources lists the sources of the demand, with what a reader must know of them.
func (m *maker) describeSources(d demand) error {
	r, week := m.report, m.weeks[len(m.weeks)-1].week
	name := func(id int64) string {
		return m.parts[slices.IndexFunc(m.parts, func(p part) bool { return p.id == id })].name
	}
	var outside int
	for _, p := range m.parts {
		if !p.reaches(week) {
			outside++
			continue
		}
		s := p.source()
		for _, c := range d.Copies {
			if c.SourceID == p.id {
				if !d.counts(p.id) {
					s.DuplicateOf = name(c.Of)
				}
				r.Notes = append(r.Notes, c.note(p.name, name(c.Of)))
			}
		}
		if p.zone != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("Times of %s: %s.", p.name, p.zone))
		}
		r.Sources = append(r.Sources, s)
	}
	if err := m.describeMetrics(); err != nil {
		return err
	}
	m.noteShortHour()
	if len(r.Replicas) > 1 {
		var parts []string
		for _, paid := range r.Replicas {
			part := show.Count(paid.Replicas)
			if paid.From.After(week.Start()) {
				part += " from " + paid.From.In(m.file.Zone).Format("Monday 15:04")
			}
			parts = append(parts, part)
		}
		r.Notes = append(r.Notes, "Replicas changed in the week: "+strings.Join(parts, ", then ")+".")
	}
	return nil
}

// capitalised makes the beginning of a sentence.
func capitalised(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
