package model

// How what-if answers. Programs get whatIfTable: everything, base units, null where
// there is no number. People get a narrow table with 90 % bands, and sentences for what
// it has no room for: what keeps a row from serving the traffic, which row is cheapest,
// and what was assumed. A sentence that holds for several rows is printed once.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/analysis/queueing"
	"tidemark/internal/cli/kit"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

func (f *whatIfFlags) printWhatIf(t traffic, rows []whatIfRow, slo analysis.SLO) error {
	if f.IsForPrograms() {
		return f.PrintTable(whatIfTable(rows, slo))
	}
	f.Remark("%s", trafficSentence(t, rows[0]))
	f.Remark("%s: %s.", rows[0].change, baseSentence(rows[0]))
	fmt.Fprintln(f.App.Writer)
	if err := f.PrintTable(whatIfSummary(rows, slo)); err != nil {
		return err
	}
	fmt.Fprintln(f.App.Writer)
	for _, sentence := range f.whatIfSentences(t, rows, slo) {
		f.Remark("%s", sentence)
	}
	return nil
}

// trafficSentence says what is asked about.
func trafficSentence(t traffic, base whatIfRow) string {
	mix := base.Mix
	text := fmt.Sprintf("%s: %s requests of %s prompt tokens on the mean, %s answered", t.name, show.Count(mix.Requests), show.Count(mix.MeanInput()), show.Count(mix.MeanOutput()))
	if mix.CachedRatio > 0 {
		text += fmt.Sprintf("; %s %% of the prompts is assumed to be cached", show.Figures(100*mix.CachedRatio))
	}
	if mix.Clients > 0 {
		return text + fmt.Sprintf("; a closed loop of %s.", show.Count(mix.Clients))
	}
	return text + fmt.Sprintf("; %s a second.", show.Figures(mix.RequestsPerS))
}

// baseSentence says what the base is on, and what the table has no room for.
func baseSentence(row whatIfRow) string {
	text := placeOf(row.Scenario)
	if row.Why == "" && row.IsStable {
		decoding := show.Figures(row.Running) + " decoding"
		if kit.HasValue(row.InFlight) {
			decoding = fmt.Sprintf("%s in flight, %s of them decoding", show.Figures(row.InFlight), show.Figures(row.Running))
		}
		text += fmt.Sprintf("; %s, p99 ITL %s", decoding, show.Duration(row.ITLP99.Value))
	}
	return text
}

// placeOf names a deployment in half a line.
func placeOf(s analysis.Scenario) string {
	text := fmt.Sprintf("%s on %d x %s", s.ModelName(), s.Deployment.GPUs(), s.GPU)
	if s.Quantization != "" && s.Quantization != "auto" {
		text += " in " + s.Quantization
	}
	if s.Replicas > 1 {
		text += fmt.Sprintf(", %d replicas", s.Replicas)
	}
	return text
}

// whatIfSummary is the table for people. Bands are 90 %.
func whatIfSummary(rows []whatIfRow, slo analysis.SLO) analysis.Table {
	names := []string{"", "GPUs", "TPOT ms", "p99 TTFT", capacityName(rows, slo), "need", "$/1M"}
	if len(slo.Objectives) > 0 {
		names = append(names, "SLO")
	}
	table := kit.TableOf(names...)
	for _, row := range rows {
		cells := []any{row.label(), fmt.Sprint(row.GPUs), "-", "-", "-", "-", "-", "-"}
		if row.Why == "" {
			cells = append(cells[:2], banded(row.TPOT.Times(1e3)), shortTime(row.P99TTFT.Value), banded(row.CapacityPerS), row.needed(), row.price(), row.sloWord())
		}
		table.Rows = append(table.Rows, cells[:len(names)])
	}
	return table
}

// capacityName heads the column of rates: what is a promise, and what is not.
func capacityName(rows []whatIfRow, slo analysis.SLO) string {
	switch {
	case slices.ContainsFunc(rows, func(r whatIfRow) bool { return r.IsRehearsed }):
		return "at most /s"
	case len(slo.Objectives) > 0:
		return "formula /s"
	}
	return "stable /s"
}

func (r whatIfRow) label() string {
	if r.pool == "" {
		return r.change
	}
	return r.change + ", " + r.pool
}

func (r whatIfRow) price() string {
	if r.USDPerMillion == nil {
		return "-"
	}
	return show.Figures(*r.USDPerMillion)
}

// needed is the number of replicas for this rate, with that of the capacity's low end where it is more; "none": no number of them is enough.
func (r whatIfRow) needed() string {
	word := func(n int) string {
		if n == 0 {
			return "none"
		}
		return fmt.Sprint(n)
	}
	switch {
	case !kit.HasValue(r.CapacityPerS.Value):
		return "-"
	case r.Cautious != r.Needed:
		return word(r.Needed) + " (" + word(r.Cautious) + ")"
	}
	return word(r.Needed)
}

// sloWord fits a column: "in band" where a bound lies within the 90 % band, so that
// the SLO may be met or not.
func (r whatIfRow) sloWord() string {
	for _, e := range r.Objectives {
		if !e.IsPossible {
			return "never"
		}
	}
	switch {
	case r.SLO != analysis.Undecided:
		return r.SLO
	case slices.ContainsFunc(r.Objectives, func(e analysis.Expectation) bool { return e.IsWithheld }):
		return analysis.Undecided
	default:
		return "in band"
	}
}

// banded writes a figure and its 90 % band.
func banded(r analysis.Range) string {
	switch {
	case r.Value == 0:
		return "0"
	case !kit.HasValue(r.Value):
		return "-"
	}
	if !kit.HasValue(r.High) {
		return fmt.Sprintf("%s (%s up)", show.Figures(r.Value), short(r.Low))
	}
	return fmt.Sprintf("%s (%s-%s)", show.Figures(r.Value), short(r.Low), short(r.High))
}

// short is two significant digits: the end of a band.
func short(v float64) string {
	if v >= 10 || v == 0 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

func shortTime(s float64) string {
	switch {
	case math.IsInf(s, 1):
		return "never"
	case !kit.HasValue(s):
		return "-"
	default:
		return show.Duration(s)
	}
}

// whatIfSentences say what the table has no room for.
func (f *whatIfFlags) whatIfSentences(t traffic, rows []whatIfRow, slo analysis.SLO) (said []string) {
	for _, row := range rows {
		if row.measuredTPOT != nil && row.Why == "" {
			said = append(said, row.comparison())
		}
	}
	for _, row := range rows {
		if h := row.headOfLine; h != nil {
			said = append(said, fmt.Sprintf("%s: p99 TTFT from due of the %s requests that are not %s: %s beside it, %s without it: %s times (%s-%s).", row.label(),
				show.Count(float64(h.Others)), h.Class, show.Duration(h.With.Value), show.Duration(h.Without.Value), show.Figures(h.Factor.Value), short(h.Factor.Low), short(h.Factor.High)))
		}
		for _, text := range row.differ {
			said = append(said, fmt.Sprintf("%s: %s.", row.label(), text))
		}
	}
	said = append(said, troubles(rows)...)
	if best := cheapest(rows, slo); best != nil && len(rows) > 1 {
		said = append(said, fmt.Sprintf("Cheapest that %s: %s, $%s an hour, %s.", map[bool]string{true: "keeps to the SLO", false: "is stable"}[len(slo.Objectives) > 0],
			best.label(), show.Figures(*best.USDPerHour), show.Headroom(best.Headroom)))
	}
	return append(said, f.whatIfAssumptions(t, rows, slo)...)
}

// troubles are what keeps rows from serving the traffic; the same thing is said once for all that have it.
func troubles(rows []whatIfRow) (said []string) {
	labels := map[string][]string{}
	var order []string
	add := func(row whatIfRow, text string) {
		if labels[text] == nil {
			order = append(order, text)
		}
		labels[text] = append(labels[text], row.label())
	}
	for _, row := range rows {
		switch {
		case row.Why != "":
			add(row, row.Why)
		case !row.IsStable:
			add(row, fmt.Sprintf("not stable, %s a second come and at most %s are served; the queue grows", show.Figures(row.RequestsPerS), show.Figures(row.StablePerS)))
		}
		for _, e := range row.Objectives {
			if !e.IsPossible {
				add(row, e.Impossible())
			}
		}
		if text := row.waitsForSlot(); text != "" {
			add(row, text)
		}
	}
	for _, text := range order {
		said = append(said, strings.Join(labels[text], "; ")+": "+text+".")
	}
	return said
}

// waitsForSlot says why a time to the first token is not predicted.
func (r whatIfRow) waitsForSlot() string {
	isWithheld := func(e analysis.Expectation) bool { return e.IsWithheld }
	slots := "the only slot"
	if r.Slots > 1 {
		slots = fmt.Sprintf("one of %s slots", show.Count(r.Slots))
	}
	what := fmt.Sprintf("of the requests wait for %s (%s)", slots, r.SlotsBy)
	const todo = "; how long is not predicted: replay it on a server, or give it more slots"
	switch {
	case r.Why != "":
		return ""
	case !kit.HasValue(r.P99TTFT.Value):
		return fmt.Sprintf("%s %% %s", show.Figures(100*r.SlotWaitRatio), what) + todo
	case slices.ContainsFunc(r.Objectives, isWithheld):
		return "at the slow end of the band more than 1 % " + what + todo
	case !kit.HasValue(r.CapacityPerS.Value):
		return "already at far smaller rates more than 1 % " + what + todo
	default:
		return ""
	}
}

// comparison is what a row measured next to what was predicted for it.
func (r whatIfRow) comparison() string {
	place := "within the band"
	if *r.measuredTPOT < r.TPOT.Low || *r.measuredTPOT > r.TPOT.High {
		place = "outside the band"
	}
	text := fmt.Sprintf("%s: measured TPOT %s, predicted %s (%+.1f %%, %s); measured TTFT %s, predicted %s (means)", r.label(),
		show.Duration(*r.measuredTPOT), show.Duration(r.TPOT.Value), 100*r.TPOT.ErrorRatio(*r.measuredTPOT), place,
		show.Duration(*r.measuredTTFT), shortTime(r.TTFT.Value))
	if r.invalid != "" {
		text += "; the run is invalid: " + r.invalid
	}
	return text + "."
}

// cheapest is the row of the least cost an hour that serves the traffic, or keeps to the SLO; pools are parts of the traffic.
func cheapest(rows []whatIfRow, slo analysis.SLO) (best *whatIfRow) {
	for i, row := range rows {
		isFit := row.Why == "" && row.IsStable && row.pool == "" && row.USDPerHour != nil && row.Scale == rows[0].Scale && !row.isOther
		isFit = isFit && (len(slo.Objectives) == 0 || row.SLO == analysis.Met)
		if isFit && (best == nil || *row.USDPerHour < *best.USDPerHour) {
			best = &rows[i]
		}
	}
	return best
}

// windowWords are the part of the traffic that a capacity is of.
func windowWords(t traffic) string {
	if t.window == 0 {
		return "all that was named"
	}
	return "the busiest " + show.Duration(t.window.Seconds()) + " that resemble the whole"
}

// whatIfAssumptions are the conditions under which the table holds, each once.
func (f *whatIfFlags) whatIfAssumptions(t traffic, rows []whatIfRow, slo analysis.SLO) (said []string) {
	said = append(said, map[string]string{
		"at most /s": "Figures in brackets are 90 % intervals. \"at most\" is what tidemark capacity says: the largest rate of all replicas, with the arrivals of " + windowWords(t) + ", that keeps to the SLO; \"need\" the replicas that these arrivals need, rehearsed together, and in brackets by its low end.",
		"formula /s": "Figures in brackets are the 90 % band. \"formula\" is a rate by closed formulas, which know no bursts" + map[bool]string{true: "; leave --formula out and it is rehearsed.", false: ". A closed loop has no rate of its own: tidemark capacity --mode closed says how many fit in flight."}[f.isFormula],
		"stable /s":  "Figures in brackets are the 90 % band. \"stable\" is the largest rate that all replicas keep up with, by formulas and whatever the latency, \"need\" the replicas for this rate, in brackets by its low end; with --slo both are rehearsed.",
	}[capacityName(rows, slo)])
	if slices.ContainsFunc(rows, func(r whatIfRow) bool { return r.USDPerMillion != nil }) {
		said = append(said, map[bool]string{
			true:  "\"$/1M\" is of output tokens, where the SLO is kept; the few requests beyond a percentile are counted in.",
			false: "\"$/1M\" is of all output tokens: without --slo nothing says which are accepted.",
		}[len(slo.Objectives) > 0])
	}
	mix := rows[0].Mix
	if mix.CachedRatio > 0 && (t.run == nil || !t.run.IsCacheKnown) {
		said = append(said, "Cached is what an earlier request had, whatever came between, and on any replica; --no-enable-prefix-caching takes none.")
	}
	if mix.Clients == 0 && (mix.ArrivalCV > 1.5 || mix.ArrivalCV < 0.7) {
		said = append(said, fmt.Sprintf("Gaps between arrivals have a cv of %s (Poisson: 1), which the waits are scaled by (Kingman): replay before you trust a p99.", show.Figures(mix.ArrivalCV)))
	}
	if busiest := mix.Busiest; mix.Clients == 0 && busiest.RateRatio > 0 && !rows[0].IsRehearsed {
		said = append(said, fmt.Sprintf("The rate is not steady: the busiest %s bring %s times the mean.%s",
			show.Duration(busiest.LengthS), show.Figures(busiest.RateRatio), busiestAdvice(rows, busiest)))
	}
	if t.run != nil && t.run.WarmUp > 0 {
		said = append(said, fmt.Sprintf("%s of its warm-up are left out, as they are of its figures; a plan has no warm-up and is asked about whole.", show.Things(int64(t.run.WarmUp), "request", "requests")))
	}
	if t.run != nil && t.run.IsSimulated {
		said = append(said, "The run was of a simulated server: "+analysis.OfSimulator+".")
	}
	if t.run != nil && t.run.Invalid != "" && rows[0].measuredTPOT == nil {
		said = append(said, "The run itself is invalid: "+t.run.Invalid+".")
	}
	seen := map[string]bool{}
	note := func(key, text string) {
		if !seen[key] {
			seen[key] = true
			said = append(said, text)
		}
	}
	for _, row := range rows {
		switch {
		case row.Why != "":
		case row.USDPerHour == nil:
			note("no price "+row.GPU, fmt.Sprintf("No price of %s is known: tidemark ingest prices.csv, with the columns gpu, usd_per_gpu_hour and label.", row.GPU))
		default:
			note("price "+row.GPU, fmt.Sprintf("%s at $%s a GPU hour%s.", row.GPU, show.Figures(row.USDPerGPUHour()), bracketed(row.PriceLabel)))
		}
		if row.Caution != "" {
			note(row.Caution, row.Caution+".")
		}
		if row.Calibration != "" {
			note(row.Calibration, fmt.Sprintf("%s: by %s.", row.label(), row.Calibration))
		}
	}
	for _, o := range slo.Objectives {
		if o.Metric == metric.FailureRatio {
			note("failures", "A share of failures is not predicted; that objective is left out.")
		}
	}
	return said
}

// busiestAdvice is to ask about the busiest part, unless a row does.
func busiestAdvice(rows []whatIfRow, busiest queueing.Busiest) string {
	asked := show.Figures(busiest.RateRatio)
	isAsked := slices.ContainsFunc(rows, func(row whatIfRow) bool { return row.Scale >= busiest.RateRatio || show.Figures(row.Scale) == asked })
	isOneScale := !slices.ContainsFunc(rows, func(row whatIfRow) bool { return row.Scale != rows[0].Scale })
	switch base := rateWords(rows[0].Scale); {
	case !isAsked:
		return fmt.Sprintf(" All above is of %s: ask again with --scale %s.", base, asked)
	case isOneScale:
		return fmt.Sprintf(" All above is of %s.", base)
	default: // a row of the table says it
		return ""
	}
}

func rateWords(scale float64) string {
	if scale == 1 {
		return "the mean"
	}
	return show.Figures(scale) + " times the mean"
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// whatIfTable has everything, in base units. What is not known, or has no number, is null.
func whatIfTable(rows []whatIfRow, slo analysis.SLO) analysis.Table {
	table := kit.TableOf(
		"change", "pool", "gpu", "model", "tensor_parallel_size", "quantization", "kv_cache_dtype", "max_num_seqs", "max_num_batched_tokens",
		"replicas", "gpus", "requests_per_s", "concurrency", "floor_tpot_s", "predicted_tpot_s", "low_tpot_s", "high_tpot_s", "measured_tpot_s",
		"predicted_ttft_s", "low_ttft_s", "high_ttft_s", "measured_ttft_s", "p99_ttft_s", "p99_tpot_s", "p99_itl_s", "running", "in_flight", "slots", "slot_wait_ratio", "is_stable", "stable_per_s",
		"capacity_per_s", "low_capacity_per_s", "high_capacity_per_s", "capacity_from", "headroom_ratio", "replicas_needed", "cautious_replicas_needed", "usd_per_hour", "usd_per_million_output_tokens",
		"experts_from", "calibration", "without_class", "others_p99_ttft_s", "others_alone_p99_ttft_s", "head_of_line_ratio", "low_head_of_line_ratio", "high_head_of_line_ratio",
		"slo", "not_possible", "why")
	for _, objective := range slo.Objectives {
		for _, end := range []string{"", "low ", "high ", "unloaded "} {
			table.Columns = append(table.Columns, end+objective.String())
		}
	}
	for _, row := range rows {
		d, o := row.Deployment, row.Outlook
		cells := []any{
			row.change, kit.OrNull(row.pool), o.GPU, d.ModelName(), int64(d.TensorParallelSize), kit.OrNull(d.Quantization), kit.OrNull(d.KVCacheDtype),
			kit.OrNull(d.MaxNumSeqs), kit.OrNull(d.MaxNumBatchedTokens), int64(o.Replicas), int64(o.GPUs),
		}
		if o.Why != "" {
			for len(cells) < len(table.Columns) {
				cells = append(cells, nil)
			}
			cells[len(table.Columns)-4*len(slo.Objectives)-1] = o.Why
			table.Rows = append(table.Rows, cells)
			continue
		}
		var impossible []string
		for _, e := range o.Objectives {
			if !e.IsPossible {
				impossible = append(impossible, e.Impossible())
			}
		}
		cells = append(cells,
			o.RequestsPerS, kit.OrNull(row.ClientsInAll()), o.FloorTPOT, o.TPOT.Value, o.TPOT.Low, o.TPOT.High, maybe.Cell(row.measuredTPOT),
			o.TTFT.Value, o.TTFT.Low, o.TTFT.High, maybe.Cell(row.measuredTTFT), o.P99TTFT.Value, o.P99TPOT.Value, o.ITLP99.Value, o.Running, o.InFlight,
			int64(o.Slots), o.SlotWaitRatio, o.IsStable, o.StablePerS, o.CapacityPerS.Value, o.CapacityPerS.Low, o.CapacityPerS.High, map[bool]string{true: "rehearsed", false: "formula"}[o.IsRehearsed], o.Headroom, kit.OrNull(o.Needed), kit.OrNull(o.Cautious), maybe.Cell(o.USDPerHour), maybe.Cell(o.USDPerMillion),
			kit.OrNull(o.ExpertsFrom), kit.OrNull(o.Calibration))
		cells = append(cells, headOfLineCells(row.headOfLine)...)
		cells = append(cells, kit.OrNull(o.SLO), kit.OrNull(strings.Join(impossible, "; ")), nil)
		table.Rows = append(table.Rows, nullsForNaN(append(cells, objectiveCells(slo, o)...)))
	}
	return table
}

// headOfLineCells are null where nobody asked for a class to be left out.
func headOfLineCells(h *analysis.HeadOfLine) []any {
	if h == nil {
		return make([]any, 6)
	}
	return []any{h.Class, h.With.Value, h.Without.Value, h.Factor.Value, h.Factor.Low, h.Factor.High}
}

// nullsForNaN writes what is not predicted.
func nullsForNaN(cells []any) []any {
	for i, cell := range cells {
		if number, isNumber := cell.(float64); isNumber && math.IsNaN(number) {
			cells[i] = nil
		}
	}
	return cells
}

// objectiveCells are four columns per objective, null where it was not predicted.
func objectiveCells(slo analysis.SLO, o analysis.Outlook) (cells []any) {
	for _, objective := range slo.Objectives {
		at := []any{nil, nil, nil, nil}
		for _, e := range o.Objectives {
			if e.Objective == objective {
				at = []any{e.At.Value, e.At.Low, e.At.High, e.Unloaded.Value}
			}
		}
		cells = append(cells, at...)
	}
	return cells
}
