package model

// One prediction for people, in the order in which a reader asks: the answer, what was
// asked, the terms that add up to it, the limits, what was assumed, and the constants
// with their sources. Times in tables are milliseconds; the terms add up to "= TPOT".

import (
	"fmt"
	"math"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/show"
)

// printArgument is the answer, then what it is made of, then what it rests on.
func (f *predictFlags) printArgument(a analysis.Argument, together float64) error {
	f.Remark("%s", answerLine(a))
	if line := togetherLine(a, together); line != "" {
		f.Remark("%s", line)
	}
	f.Remark("%s", askedLine(a))
	if line := replicasLine(a); line != "" {
		f.Remark("%s", line)
	}
	if line := unmeasuredLine(a); line != "" {
		f.Remark("%s", line)
	}
	if gpus := a.Point.TensorParallelSize; gpus > oneMachine {
		f.Remark("%d GPUs are taken as one NVLink domain, as in a rack of NVL72; over a network their all-reduces take longer.", gpus)
	}
	f.Remark("%s", nearestLine(a))
	f.Remark("Rests on: %s.", a.TermsFrom)
	if a.Calibration != "" {
		f.Remark("Calibrated: constants of %s.", a.Calibration)
	}
	for _, part := range []struct {
		title string
		table analysis.Table
	}{
		{"", termsTable(a)},
		{"", limitsTable(a)},
		{"Assumed, because no flag gives it:", f.defaultsTable(a)},
		{"Constants:", constantsTable(a.Constant)},
	} {
		if len(part.table.Rows) == 0 {
			continue
		}
		fmt.Fprintln(f.App.Writer)
		if part.title != "" {
			fmt.Fprintln(f.App.Writer, part.title)
		}
		if err := f.PrintTable(part.table); err != nil {
			return err
		}
	}
	return nil
}

// milliseconds is a time in a column of milliseconds.
func milliseconds(seconds float64) string { return show.Figures(1e3 * seconds) }

// oneMachine is how many GPUs share NVLink in a usual one.
const oneMachine = 8

// answerLine is the prediction in one line. At an overload there is no TTFT: the queue
// grows for as long as the load lasts.
func answerLine(a analysis.Argument) string {
	text := fmt.Sprintf("TPOT %s (%s), floor %s, ", show.Duration(a.TPOT), show.Range(a.Low, a.High), show.Duration(a.FloorTPOT))
	if math.IsNaN(a.TPOT) {
		text = "TPOT not known of one token, "
	}
	if math.IsInf(a.TTFT, 0) {
		return text + fmt.Sprintf("and overloaded: at most %s requests/s of %s are served, TTFT grows without end",
			show.Figures(a.MostPerS()), show.Figures(a.Point.RequestsPerS))
	}
	return text + fmt.Sprintf("TTFT %s; %s tokens/s in all", timeOf(a.TTFT), show.Figures(a.AllOutputPerS()))
}

// togetherLine says what TTFT of a closed loop it is, and the other one; empty without others to wait for.
func togetherLine(a analysis.Argument, together float64) string {
	if a.Point.Clients <= 1 || a.Point.IsStatic {
		return ""
	}
	text := "That TTFT is of clients that come apart"
	if math.IsNaN(together) {
		return text + "; where they start at once, prompts wait for each other."
	}
	return text + fmt.Sprintf("; where all start at once, with equal lengths, the median is %s, rehearsed.", show.Duration(together))
}

// askedLine repeats the question, so that an answer can be read without its command.
func askedLine(a analysis.Argument) string {
	p := a.Point
	load := fmt.Sprintf("%s requests/s", show.Figures(p.RequestsPerS))
	if p.Clients > 0 {
		load = fmt.Sprintf("%s in a closed loop", counted(p.Clients, "client"))
	}
	if p.IsStatic {
		load = fmt.Sprintf("a static batch of %s", counted(p.Clients, "request"))
	}
	gpus := fmt.Sprintf("%d x %s", max(p.TensorParallelSize, 1), p.GPU)
	if n := a.Replicas(); n > 1 {
		gpus = fmt.Sprintf("%s x %d %s", show.Count(n), max(p.TensorParallelSize, 1), p.GPU)
	}
	text := fmt.Sprintf("%s in %s on %s, %s; %s, %s tokens in, %s out", p.ModelName(), p.Quantization, gpus, p.Engine, load, show.Count(p.InputTokens), show.Count(p.OutputTokens))
	if p.CachedTokens > 0 {
		text += fmt.Sprintf(", %s of them cached", show.Count(p.CachedTokens))
	}
	return text
}

// replicasLine says which figures are of one replica; empty where there is only one.
func replicasLine(a analysis.Argument) string {
	n := a.Replicas()
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("Of all %s replicas: the load, requests/s, tokens/s. Of one: terms, running, KV cache.", show.Count(n))
}

// unmeasuredLine says that nobody timed a kernel on the GPU, and which GPUs stand in for it; empty where somebody did.
func unmeasuredLine(a analysis.Argument) string {
	row := kit.RowsOf(a.Bytes)[0]
	from := "of its datasheet and of all GPUs"
	switch row.Text("gpu_kinship") {
	case "measured":
		return ""
	case "same_family":
		from = "of its datasheet and of its family: " + row.Text("measured_kin")
	case "kin":
		from = "of its datasheet and of its vendor's: " + row.Text("measured_kin")
	}
	return fmt.Sprintf("%s is unmeasured: no kernel was timed on it, the figures are %s.", a.Point.GPU, from)
}

// nearestLine says which measured deployment is the nearest, and what is different here.
func nearestLine(a analysis.Argument) string {
	text := "Nearest measured: " + a.Nearest.What
	if a.Nearest.Differs == "" {
		return text + "; nothing differs here."
	}
	return text + "; here differs: " + a.Nearest.Differs + "."
}

// limitsFrom says whose default a limit is.
func limitsFrom(row kit.RowOf) string {
	if from := row.Text("defaults_from"); from != "" {
		return "vLLM's default from " + from + " on this GPU"
	}
	return "vLLM's default"
}

// scheduling says in a word how the engine prepares its steps, and what else it does by itself; empty where that is not known.
func scheduling(row kit.RowOf) (how, also string) {
	if row.Text("defaults_from") == "" {
		return "", ""
	}
	how, also = "one by one", "prompts in chunks"
	if row["is_async"] == true {
		how = "overlapped"
	}
	if row["has_whole_prompts"] == true {
		also = "prompts whole"
	}
	return how, "scheduling; " + limitsFrom(row) + ": " + also + ", CUDA graphs " + row.Text("cuda_graphs")
}

// counted also takes means, which are not whole.
func counted(n float64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if n == math.Trunc(n) {
		return show.Count(n) + " " + thing + "s"
	}
	return show.Figures(n) + " " + thing + "s"
}

// termsTable lists the terms, which add up to the TPOT, and below them two figures that
// are not predictions: the floor, and weights over peak bandwidth.
func termsTable(a analysis.Argument) analysis.Table {
	if math.IsNaN(a.TPOT) {
		return analysis.Table{}
	}
	row := kit.RowsOf(a.Bytes)[0]
	table := kit.TableOf("term", "      ms", "share", "what it is")
	add := func(name string, seconds float64, what string) {
		share := fmt.Sprintf("%3.0f %%", 100*a.ShareOfTPOT(seconds))
		if !strings.HasPrefix(what, "*") {
			table.Rows = append(table.Rows, []any{name, fmt.Sprintf("%8s", milliseconds(seconds)), share, what})
			return
		}
		table.Rows = append(table.Rows, []any{name, fmt.Sprintf("%8s", milliseconds(seconds)), "", what[1:]})
	}
	for i, term := range analysis.TermNames() {
		if what := termMeaning(term, a, row); what != "" && (a.Terms[i] != 0 || term != "draft_s" && term != "experts_s" && term != "allreduce_s") {
			add(map[string]string{"kv_s": "KV cache", "draft_s": "drafts", "allreduce_s": "all-reduce"}[term], a.Terms[i], what)
			last := table.Rows[len(table.Rows)-1]
			if last[0] == "" {
				last[0] = strings.TrimSuffix(term, "_s")
			}
		}
	}
	total := fmt.Sprintf("90 %% band %s to %s", milliseconds(a.Low), milliseconds(a.High))
	if steps := row.Number("tokens_per_step"); steps > 1 {
		total += fmt.Sprintf("; a step yields %s tokens", show.Figures(steps))
	}
	add("= TPOT", a.TPOT, total)
	add("floor", a.FloorTPOT, "*weights and KV cache at peak bandwidth: nothing is faster")
	add("weights/peak", row.Number("weights_over_peak_s"), "*weights alone over peak bandwidth: one term, no prediction")
	return table
}

// termMeaning says in bytes, counts or layers where a term comes from; empty for a term
// that is not shown.
func termMeaning(term string, a analysis.Argument, row kit.RowOf) string {
	switch term {
	case "weights_s":
		return fmt.Sprintf("%s GB streamed a step, at %s of %s GB/s", kit.Gigabytes(row.Number("weight_bytes")),
			kit.Gigabytes(a.WeightBytesPerS()), kit.Gigabytes(row.Number("hbm_bytes_per_s")))
	case "experts_s":
		return fmt.Sprintf("%s of %s experts of a layer, %s GB, and their routing", show.Figures(row.Number("hit_experts")),
			row.Text("experts"), kit.Gigabytes(row.Number("expert_bytes")))
	case "kv_s":
		return fmt.Sprintf("%s GB read: %s of %s tokens", kit.Gigabytes(row.Number("kv_bytes")), counted(max(1, a.Batch), "request"), show.Count(a.ContextTokens))
	case "arithmetic_s":
		return "what multiplying in " + strings.ToUpper(row.Text("compute_format")) + " adds to streaming"
	case "layers_s":
		return fmt.Sprintf("%s layers, %s us each that no bandwidth takes away", row.Text("layers"), show.Figures(1e6*row.Number("layer_s")))
	case "allreduce_s":
		return fmt.Sprintf("two a layer between %d GPUs", max(a.Point.TensorParallelSize, a.Point.ExpertParallelSize))
	case "host_s":
		return "scheduling and sampling"
	case "draft_s":
		return fmt.Sprintf("guessing %s a step", counted(a.Point.Drafts, "token"))
	case "prefill_s":
		if a.Point.IsStatic {
			return staticPromptsMeaning(a, row)
		}
		return fmt.Sprintf("prompts of others in the same steps, %s each", show.Duration(row.Number("prompt_s")))
	default:
		return ""
	}
}

// ttftTerms says what the mean time from sending to the first token is made of.
func ttftTerms(a analysis.Argument) string {
	if math.IsInf(a.TTFT, 0) {
		return "the queue grows without end"
	}
	if math.IsNaN(a.TTFT) {
		return fmt.Sprintf("at %s of the most that can be served, bursts and the longest requests make the queue: rehearse them, with tidemark rehearse", show.Percent(a.ShareOfMost()))
	}
	wait := "prompts before it"
	if a.IsFull {
		wait = "a place and prompts before it"
	}
	return fmt.Sprintf("mean, 90 %% band %s: HTTP and tokenizing %s, waiting for %s %s, its prompt %s, the steps it rides in %s",
		show.Range(a.LowTTFT, a.HighTTFT), show.Duration(a.TTFTTerms[0]), wait, show.Duration(a.TTFTTerms[1]), show.Duration(a.TTFTTerms[2]), show.Duration(a.TTFTTerms[3]))
}

// staticPromptsMeaning says what a static batch takes beside its steps. Where the KV cache is short, that is the other waves, too.
func staticPromptsMeaning(a analysis.Argument, row kit.RowOf) string {
	text := fmt.Sprintf("all prompts, %s each", show.Duration(row.Number("prompt_s")))
	if a.IsFull {
		text += ", and the time of the waves after the first"
	}
	return text
}

// limitsTable has the other figures that follow, and the limits of the deployment.
func limitsTable(a analysis.Argument) analysis.Table {
	row := kit.RowsOf(a.Bytes)[0]
	table := kit.TableOf("also", "", "what it is")
	add := func(name, value, what string, args ...any) {
		table.Rows = append(table.Rows, []any{name, value, fmt.Sprintf(what, args...)})
	}
	add("TTFT", timeOf(a.TTFT), "%s", ttftTerms(a))
	if a.Point.Drafts > 0 {
		add("step p99", timeOf(a.ITLP99), "tokens come in bursts: a gap between tokens says nothing")
	} else if a.IsMixed {
		add("ITL p99", timeOf(a.ITLP99), "a step with %s prompt tokens in it", show.Count(row.Number("chunk_tokens")))
	} else {
		add("ITL p99", timeOf(a.ITLP99), "a step: too few carry a prompt")
	}
	add("MBU", show.Figures(a.MBU), "bytes a second over peak, while no prompt is worked on")
	add("MFU", show.Figures(a.MFU), "FLOP a second over peak, prompts and answers")
	limit := "max_num_seqs"
	if row["is_kv_bound"] == true {
		limit = "KV cache"
	}
	full, ofOne, ofAll := "", "", ""
	if a.IsFull {
		full = "; others wait"
	}
	if n := a.Replicas(); n > 1 {
		ofOne, ofAll = ", one replica", fmt.Sprintf(", all %s replicas", show.Count(n))
	}
	add("running", show.Figures(a.Batch), "of %s at most (%s)%s%s", show.Figures(row.Number("most_running")), limit, ofOne, full)
	onset := row.Number("preemption_onset_requests")
	preemption := fmt.Sprintf("more than %s requests to their last token preempt each other", show.Count(onset))
	if onset >= float64(a.Point.MaxNumSeqs) {
		preemption = fmt.Sprintf("%d requests to their last token fit: none is preempted", a.Point.MaxNumSeqs)
	}
	add("KV cache", show.Count(a.KVCapacityTokens), "tokens%s; %s", ofOne, preemption)
	add("most", show.Figures(a.MostPerS())+"/s", "requests of these lengths, served in an open loop%s", ofAll)
	return table
}

// constantTime writes a time of a kernel or of the host.
func constantTime(s float64) string {
	switch {
	case s < 1e-6:
		return show.Figures(1e9*s) + " ns"
	case s < 1e-3:
		return show.Figures(1e6*s) + " us"
	}
	return show.Duration(s)
}

// timeOf writes the time of a queue that grows without end, or of which no formula knows, as a word.
func timeOf(s float64) string {
	if math.IsInf(s, 0) {
		return "endless"
	}
	if math.IsNaN(s) {
		return "not known"
	}
	return show.Duration(s)
}

// defaultsTable lists what no flag gives and the model had to assume.
func (f *predictFlags) defaultsTable(a analysis.Argument) analysis.Table {
	p, row := a.Point, kit.RowsOf(a.Bytes)[0]
	table := kit.TableOf("what", "taken", "from")
	add := func(isAssumed bool, what, taken, from string) {
		if isAssumed {
			table.Rows = append(table.Rows, []any{what, taken, from})
		}
	}
	unsaid := func(flag string) bool { return !f.IsGiven(flag) }
	compute := row.Text("compute_format")
	add(unsaid("quantization"), "weights", p.Quantization, "the model's own format")
	odd := oddCompute(a)
	add(odd != "", "multiplied in", compute, odd)
	add(p.ComputeDtype == "" && compute != p.Quantization, "multiplied in", compute, "what "+p.Quantization+" is multiplied in on "+p.GPU)
	add(unsaid("kv-cache-dtype"), "KV cache", p.KVCacheDtype, "what the checkpoint says, else bf16")
	add(unsaid("tensor-parallel-size"), "tensor parallel", fmt.Sprint(max(p.TensorParallelSize, 1)), "one GPU unless said")
	add(unsaid("engine"), "engine", p.Engine, "vllm unless said")
	add(row.Number("engine_constants") == 0, "constants", "any engine's", "there are none of "+p.Engine)
	switch version := row.Text("constants_version"); version {
	case "":
		add(unsaid("engine-version"), "engine version", "unknown", "constants of no version in particular")
	case row.Text("newest_fitted"):
		add(unsaid("engine-version"), "engine version", version, "the newest that constants were fitted to")
	default:
		add(unsaid("engine-version"), "engine version", version, "that of this deployment's last calibration")
	}
	add(unsaid("max-num-seqs"), "max_num_seqs", fmt.Sprint(p.MaxNumSeqs), limitsFrom(row))
	add(unsaid("max-num-batched-tokens"), "max_num_batched_tokens", fmt.Sprint(p.MaxNumBatchedTokens), limitsFrom(row))
	how, also := scheduling(row)
	add(how != "", "steps", how, also)
	add(unsaid("gpu-memory-utilization"), "memory utilization", show.Figures(row.Number("memory_utilization")), "vLLM's default")
	add(unsaid("concurrency") && unsaid("request-rate") && unsaid("static-batch"), "load", "1 client", "--concurrency or --request-rate")
	add(unsaid("input-tokens") || unsaid("output-tokens"), "lengths", show.Count(p.InputTokens)+" + "+show.Count(p.OutputTokens), "--input-tokens, --output-tokens")
	add(a.ExpertsFrom == "law", "experts", "law alone", "no kernel table of their shape is near: one calibration run would narrow the band")
	add(a.ExpertsFrom != "" && a.ExpertsFrom != "law", "experts", "law and table", "mean of the law and the "+a.ExpertsFrom)
	add(p.CachedTokens > 0, "cached tokens", show.Count(p.CachedTokens), "each request holds its own: shared ones leave more room")
	return table
}

// computeWidth orders what multiplies weights.
var computeWidth = map[string]int{"fp4": 4, "fp8": 8, "bf16": 16}

// oddCompute says what is odd about the arithmetic that was asked for; empty: nothing.
func oddCompute(a analysis.Argument) string {
	p, row := a.Point, kit.RowsOf(a.Bytes)[0]
	asked, usual := p.ComputeDtype, row.Text("usual_compute_format")
	switch {
	case asked == "":
		return ""
	case asked != row.Text("compute_format"):
		return p.GPU + " does not multiply " + asked
	case computeWidth[asked] > computeWidth[usual]:
		return fmt.Sprintf("asked for: wider than the %s that %s weights have kernels for", usual, p.Quantization)
	case computeWidth[asked] < computeWidth[usual]:
		return fmt.Sprintf("asked for: narrower than the %s that %s weights are multiplied in", usual, p.Quantization)
	default:
		return ""
	}
}

// constantsTable names each constant, its value and its source.
func constantsTable(constants analysis.Table) analysis.Table {
	table := kit.TableOf("constant", "value", "of", "source")
	for _, row := range kit.RowsOf(constants) {
		value := show.Figures(row.Number("value"))
		switch row.Text("unit") {
		case "s":
			value = constantTime(row.Number("value"))
		case "bytes":
			value = kit.Gigabytes(row.Number("value")) + " GB"
		}
		source := row.Text("source")
		if row["is_other_version"] == true {
			source = "nearest version known; " + source
		}
		table.Rows = append(table.Rows, []any{constantName(row), value, constantScope(row), source})
	}
	return table
}

// constantName adds the format to constants that depend on it.
func constantName(row kit.RowOf) string {
	if format := row.Text("format"); format != "*" {
		return row.Text("name") + " " + format
	}
	return row.Text("name")
}

// constantScope is what a constant was found on.
func constantScope(row kit.RowOf) string {
	var scope []string
	for _, column := range []string{"gpu", "engine", "engine_version"} {
		if text := row.Text(column); text != "*" && text != "" {
			scope = append(scope, text)
		}
	}
	if len(scope) == 0 {
		return "any"
	}
	return strings.Join(scope, " ")
}
