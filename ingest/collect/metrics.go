package collect

import (
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/queries"
	"tidemark/replay/secrets"
)

// wanted quantities of the seed's metric names. All counters of an engine are; of its histograms those that the page of a week shows.
var (
	wantedGauges     = []string{"running_requests", "waiting_requests", "kv_used_ratio", "acceptance_length"}
	wantedHistograms = []string{"input_tokens", "output_tokens", "ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"}
	wantedOfGPUs     = []string{"gpu_power_w", "gpu_sm_clock_hz", "gpu_memory_clock_hz", "gpu_busy_ratio", "gpu_memory_busy_ratio", "gpu_dram_active_ratio", "gpu_energy_j",
		"gpu_throttle_reasons"}
)

// ofDCGM begins the names of DCGM's exporter. The seed's other names of a GPU's quantities are columns of files, which no Prometheus has.
const ofDCGM = "DCGM_FI_"

// tokenSums is the group of the sums of the histograms of lengths. They are asked for as often as requests are counted: what a counter
// grows before its second value, or across a gap, is in no hour, and an hour must not lose tokens whose requests it keeps.
const tokenSums = "tokens"

// counts is the group of what is counted, and of gauges.
const counts = "counters"

// starts is the group of when the engines' processes began: what a new one has counted before it was first looked at is of that time.
const starts = "starts"

// known are the names that are asked for, as regular expressions, by group; "engines" are all of engines and gateways, wanted or not.
var known = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	add := func(group, pattern string) {
		if !slices.Contains(names[group], pattern) {
			names[group] = append(names[group], pattern)
		}
	}
	for _, file := range queries.In("seeds", ".csv") {
		if file.Name != "metric_names" {
			continue
		}
		rows, err := csv.NewReader(strings.NewReader(file.Text)).ReadAll()
		if err != nil {
			panic(err) // it is built in
		}
		for _, row := range rows[1:] {
			name, quantity, kind := row[0], row[2], row[3]
			pattern := regexp.QuoteMeta(name)
			if strings.HasPrefix(quantity, "gpu_") {
				if strings.HasPrefix(name, ofDCGM) && slices.Contains(wantedOfGPUs, quantity) {
					add("gpus", pattern)
				}
				continue
			}
			if engine, rest, isEngine := strings.Cut(name, ":"); isEngine { // Ray writes ray_vllm_..., and some exporters vllm_...
				pattern = "(ray_)?" + engine + "[:_]" + regexp.QuoteMeta(rest)
				add("engines", "(ray_)?"+engine+"[:_].+")
			} else {
				add("engines", pattern+".*")
			}
			switch {
			case kind == "counter":
				add("counters", pattern+"(_total)?")
			case kind == "gauge" && slices.Contains(wantedGauges, quantity):
				add("counters", pattern)
			case kind == "histogram" && quantity == "input_tokens": // its count is that of requests
				add("counters", pattern+"_count")
				add("tokens", pattern+"_sum")
				add("histograms", pattern+"_bucket")
			case kind == "histogram" && quantity == "output_tokens":
				add("tokens", pattern+"_sum")
				add("histograms", pattern+"_(bucket|count)")
			case kind == "histogram" && slices.Contains(wantedHistograms, quantity):
				add("histograms", pattern+"_(bucket|sum|count)")
			}
		}
	}
	return names
})

// of chooses those of the server's names that belong to a group.
func of(group string, names []string) (found []string) {
	is := regexp.MustCompile("^(" + strings.Join(known()[group], "|") + ")$")
	for _, name := range names {
		if is.MatchString(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// selectorOf is a selector of series by their names and the service's matchers.
func selectorOf(names []string, matchers string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(name), `\`, `\\`)
	}
	text := `{__name__=~"` + strings.Join(quoted, "|") + `"`
	if matchers != "" {
		text += "," + matchers
	}
	return text + "}"
}

// groups finds out which of the names the server has of this service, and how its GPUs are told from others. ofEngine are the names
// of the engine's own series.
func (s *server) groups(ctx context.Context, settings Settings, matchers string) (groups []group, ofEngine []string, err error) {
	since, until := settings.Since, settings.Until
	names, err := s.names(ctx, "{__name__!=\"\""+commaBefore(matchers)+"}", since, until)
	if err != nil {
		return nil, nil, err
	}
	counters, tokens, histograms := of("counters", names), of("tokens", names), of("histograms", names)
	if len(counters)+len(tokens)+len(histograms) == 0 {
		return nil, nil, s.noneFound(ctx, settings, matchers)
	}
	if len(counters) > 0 {
		groups = append(groups, group{counts, settings.Steps.Counters, selectorOf(counters, matchers)})
	}
	if len(tokens) > 0 {
		groups = append(groups, group{tokenSums, settings.Steps.Counters, selectorOf(tokens, matchers)})
	}
	if len(histograms) > 0 {
		groups = append(groups, group{"histograms", settings.Steps.Histograms, selectorOf(histograms, matchers)})
	}
	ofEngine = slices.Concat(counters, tokens, histograms)
	// It says nothing of a model: it is of the addresses that the engine's series are of.
	const began = "process_start_time_seconds"
	if has, err := s.names(ctx, `{__name__=~"`+began+`"}`, since, until); err != nil {
		return nil, nil, err
	} else if slices.Contains(has, began) {
		groups = append(groups, group{starts, settings.Steps.Counters, fmt.Sprintf(`%s{instance!=""} and on (job, instance) %s`,
			began, selectorOf(ofEngine[:1], matchers+commaIf(matchers)+`instance!=""`))})
	}
	query, err := s.gpus(ctx, settings, names, ofEngine, matchers)
	if query != "" {
		groups = append(groups, group{"gpus", settings.Steps.GPUs, query})
	}
	return groups, ofEngine, err
}

func commaBefore(matchers string) string {
	if matchers == "" {
		return ""
	}
	return "," + matchers
}

// gpus is the question for the GPUs of this service; empty: there are none that are known to be its own. DCGM's series say nothing of a
// model. They are those that the matchers choose, else those of the pods that the engine's series are of.
func (s *server) gpus(ctx context.Context, settings Settings, names, ofEngine []string, matchers string) (string, error) {
	if own := of("gpus", names); len(own) > 0 {
		return selectorOf(own, matchers), nil
	}
	all, err := s.names(ctx, `{__name__=~"`+ofDCGM+`.*"}`, settings.Since, settings.Until)
	gpus := of("gpus", all)
	if err != nil || len(gpus) == 0 {
		return "", err
	}
	pods := fmt.Sprintf("group by (namespace, pod) (%s)", selectorOf(ofEngine[:1], matchers+commaIf(matchers)+`pod!=""`))
	for _, query := range []string{
		fmt.Sprintf("%s and on (namespace, pod) %s", selectorOf(gpus, `pod!=""`), pods),
		fmt.Sprintf(`%s and on (exported_namespace, exported_pod) label_replace(label_replace(%s, "exported_pod", "$1", "pod", "(.*)"), "exported_namespace", "$1", "namespace", "(.*)")`,
			selectorOf(gpus, `exported_pod!=""`), pods),
	} {
		isThere, err := s.hasAny(ctx, query, settings.Until)
		if err != nil || isThere {
			return query, err
		}
	}
	return "", nil
}

func commaIf(matchers string) string {
	if matchers == "" {
		return ""
	}
	return ","
}

// justBegun is the error of a service that has been scraped for some minutes only.
func justBegun(where string, until time.Time) error {
	return hint.Errorf("collect: %s has scraped the service only since after %s", where, written(until)).Hint("ask again in five minutes")
}

// noneFound says whether the selector chooses nothing, or the server has no metrics of an engine at all.
func (s *server) noneFound(ctx context.Context, settings Settings, matchers string) error {
	all, err := s.names(ctx, `{__name__=~"`+strings.Join(known()["engines"], "|")+`"}`, settings.Since, settings.Until)
	if err != nil {
		return err
	}
	where := secrets.ShownURL(settings.URL)
	// What was scraped first after the end of what is asked for is there too.
	if names, err := s.names(ctx, "{__name__!=\"\""+commaBefore(matchers)+"}", settings.Since, time.Now()); err == nil && len(of("counters", names))+len(of("histograms", names)) > 0 {
		return justBegun(where, settings.Until)
	}
	if matchers == "" || len(of("counters", all))+len(of("histograms", all)) == 0 {
		return hint.Errorf("collect: %s has no metrics of an engine between %s and %s (vllm:..., sglang:..., tgi_..., trtllm:..., dynamo_frontend_...)", where, written(settings.Since), written(settings.Until)).
			Hint("does it scrape the servers? its page /targets says so; another server may have them: metrics: in the service file")
	}
	e := hint.Errorf("collect: %s has metrics of an engine, and none of them matches {%s}", where, matchers)
	if models, err := s.values(ctx, "model_name", selectorOf(of("counters", all), ""), settings.Since, settings.Until); err == nil && len(models) > 0 {
		return e.Hint("change metrics_selector in the service file; model_name is %s there", strings.Join(models[:min(len(models), 8)], ", "))
	}
	return e.Hint("change metrics_selector in the service file, or leave it out")
}
