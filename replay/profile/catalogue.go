package profile

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// A workload catalogue describes traffic by moments: inference-perf's workload-catalog has a config.json per workload, with
// min, max, mean and standard deviation of each quantity, and with objectives and where they come from. Here such a file
// becomes a profile, its control of average sizes and an SLO file.
//
// Prompts are put together as inference-perf's own conversation_replay does it: the system prompt, which all sessions
// share; then input_sequence_length, once a session; then input_sequence_length_per_turn with each later turn, behind all
// that was said before. So input_sequence_length is not the mean prompt of workloads of several turns.
//
// A law that is cut at min and max no longer has the moments that it was made from. Laws are therefore solved for: the mean
// is always the file's, and the standard deviation where the bounds allow it.

// Archetype is one workload of a catalogue, as files.
type Archetype struct {
	Profile []byte
	Average []byte   // the same with every quantity at its mean: the control
	SLO     []byte   // nil: the file has no objectives
	Notes   []string // what of the file the profile cannot keep
}

// catalogued are the keys of config.json that a profile needs.
type catalogued struct {
	Input    *moments `json:"input_sequence_length"`
	Output   *moments `json:"output_sequence_length"`
	Turns    *moments `json:"number_of_turns"`
	Wait     *moments `json:"time_between_turns"` // seconds
	System   *moments `json:"system_prompt"`
	PerTurn  *moments `json:"input_sequence_length_per_turn"`
	Shared   *moments `json:"shared_prefix_tokens_per_call"` // only of recorded traces
	Metadata struct {
		SLOs map[string]any `json:"slos"`
	} `json:"metadata"`
}

// moments are a quantity as the catalogue gives it.
type moments struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"standard_deviation"`
	Law  string  `json:"distribution_type"`
}

// FromCatalogue makes profile, control and SLO of a config.json. ratePerS is of requests: a catalogue has none.
func FromCatalogue(name string, content []byte, ratePerS float64) (Archetype, error) {
	var c catalogued
	if err := json.Unmarshal(content, &c); err != nil {
		return Archetype{}, fmt.Errorf("not a workload of a catalogue: %w", err)
	}
	if c.Input == nil || c.Output == nil {
		return Archetype{}, hint.Errorf("not a workload of a catalogue: input_sequence_length or output_sequence_length is missing").
			Hint("name a config.json of inference-perf's workload-catalog")
	}
	for key, m := range map[string]*moments{"input_sequence_length": c.Input, "output_sequence_length": c.Output, "number_of_turns": c.Turns,
		"time_between_turns": c.Wait, "system_prompt": c.System, "input_sequence_length_per_turn": c.PerTurn} {
		if err := m.check(); err != nil {
			return Archetype{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	if !isRate(ratePerS) {
		return Archetype{}, hint.Misuse("needs a rate above 0 and at most a million, requests per second")
	}
	w := writing{name: name, sum: sha256.Sum256(content), catalogued: c}
	w.grow()
	a := Archetype{Profile: w.profile(ratePerS, w.law), Average: w.profile(ratePerS, averageOf), Notes: w.notes}
	for _, text := range [][]byte{a.Profile, a.Average} {
		if _, err := Parse("of the catalogue", text); err != nil {
			return a, err
		}
	}
	var err error
	a.SLO, err = w.slo()
	return a, err
}

// check refuses moments that no distribution has.
func (m *moments) check() error {
	if m == nil {
		return nil
	}
	switch {
	case !(m.Min >= 0 && m.Min <= m.Mean && m.Mean <= m.Max && m.Max <= 1e12):
		return fmt.Errorf("min %g, mean %g, max %g: must ascend from 0", m.Min, m.Mean, m.Max)
	case !(m.SD >= 0):
		return fmt.Errorf("standard_deviation %g: must not be negative", m.SD)
	case !slices.Contains(lawsOfCatalogue, m.Law):
		return hint.Errorf("distribution_type %q is not known", m.Law).Hint("known are %s", strings.Join(lawsOfCatalogue[1:], ", "))
	}
	return nil
}

// lawsOfCatalogue are the distribution types that a catalogue names. A recorded workload names none: it is read as log-normal.
var lawsOfCatalogue = []string{"", "log_normal", "normal", "uniform", "exponential", "bimodal", "fixed"}

// writing is the state while the files are written.
type writing struct {
	catalogued
	name   string
	sum    [sha256.Size]byte
	growth bool // the first turn is made of what each turn adds
	notes  []string
}

func (w *writing) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// grow works out what each turn adds, where the file has prompts of whole calls instead. If each call adds g tokens, the
// answer before it included, a session of T calls has a mean prompt of g (E[T(T-1)]/2E[T] + 1) less one answer.
func (w *writing) grow() {
	if !w.several() || w.PerTurn != nil {
		return
	}
	turns := w.Turns
	before := (turns.SD*turns.SD + turns.Mean*turns.Mean - turns.Mean) / (2 * turns.Mean)
	added := (w.Input.Mean+w.Output.Mean)/(before+1) - w.Output.Mean
	scale := max(added, 1) / w.Input.Mean
	w.PerTurn = &moments{Min: 1, Max: w.Input.Max, Mean: max(added, 1), SD: w.Input.SD * scale}
	w.growth = true
	w.note("the file has no input_sequence_length_per_turn: each call adds %s tokens on average, so that the mean prompt is its input_sequence_length; contexts that are cut, and calls that stand alone, are not in the profile", number3(w.PerTurn.Mean))
	if w.Shared != nil {
		w.note("of the file's prompts %s are what the call before had", number3(100*w.Shared.Mean/w.Input.Mean)+" %")
	}
}

// several says that sessions have several turns.
func (w *writing) several() bool { return w.Turns != nil && w.Turns.Max > 1 }

// profile writes the profile. law writes a quantity.
func (w *writing) profile(ratePerS float64, law func(string, *moments, column) string) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	classes := w.classes(law)
	line("schema: %s", Schema)
	line("name: %s", strconv.Quote(w.name))
	line("description: %s", strconv.Quote("a workload of inference-perf's catalogue"))
	line("")
	line("# From a config.json of kubernetes-sigs/inference-perf, workload-catalog (Apache-2.0), SHA-256 %x.", w.sum[:8])
	line("# Means and bounds are the file's. The rate is not: a catalogue has none.")
	for _, note := range w.notes {
		for _, part := range wrapped(note, 118) {
			line("# %s", part)
		}
	}
	mode, turns := "open", 1.0
	if w.several() {
		mode, turns = "sessions", w.Turns.Mean
	}
	line("mode: %s", mode)
	line("block_tokens: %d", w.blockTokens())
	line("duration: 1h")
	line("")
	line("arrivals:")
	line("  process: poisson")
	line("  rate_per_s: %s   # of sessions: %s requests/s", exact(ratePerS/turns), number3(ratePerS))
	line("")
	return []byte(b.String() + classes)
}

// classes writes the one class of the profile.
func (w *writing) classes(law func(string, *moments, column) string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("classes:")
	line("  - name: all")
	line("    share: 1")
	first, newText := w.Input, "input_sequence_length"
	if w.several() {
		first, newText = w.PerTurn, "input_sequence_length_per_turn"
		line("    turns: %s", law("number_of_turns", w.Turns, ofTurns))
		if !w.growth {
			line("    first: {input_tokens: %s}", law("input_sequence_length", w.Input, ofInput))
		}
		if w.Wait != nil && w.Wait.Mean > 0 {
			line("    think_s: %s", law("time_between_turns", w.Wait, ofThink))
		}
	}
	line("    input_tokens: %s   # new text of a turn", law(newText, first, ofInput))
	line("    output_tokens: %s", law("output_sequence_length", w.Output, ofOutput))
	line("    prefix:")
	line("      history: growing")
	if w.System != nil && w.System.Mean >= 1 {
		line("      shared: {count: 1, tokens: %s}   # the system prompt", exact(math.Round(w.System.Mean)))
	}
	return b.String()
}

// blockTokens keeps long contexts from becoming millions of blocks.
func (w *writing) blockTokens() int {
	if w.Input.Mean > 20_000 {
		return 512
	}
	return 64
}

// averageOf is a quantity that is always its mean.
func averageOf(_ string, m *moments, of column) string {
	if of == ofThink {
		return exact(m.Mean)
	}
	return exact(max(1, math.Round(m.Mean)))
}

// law writes a quantity as the distribution that has the file's mean between its bounds, and says where it cannot have the
// standard deviation.
func (w *writing) law(key string, m *moments, of column) string {
	d, bounds := m.solved(of)
	if d == nil {
		return averageOf(key, m, of)
	}
	_, sd := d.moments()
	if math.Abs(sd/m.SD-1) > 0.02 {
		w.note("%s: between %s and %s, %s with a mean of %s, it has a standard deviation of %s (%s in the file)",
			key, number3(m.Min), number3(m.Max), cmp.Or(strings.ReplaceAll(m.Law, "_", "-"), "log-normal"), number3(m.Mean), number3(sd), number3(m.SD))
	}
	return "{" + d.words() + bounds + "}"
}

// solved is the distribution; nil where the quantity does not vary.
func (m *moments) solved(of column) (d *Distribution, bounds string) {
	least, most := (&Distribution{of: of}).limits()
	d = &Distribution{of: of, least: max(m.Min, least), most: min(m.Max, most)}
	bounds = fmt.Sprintf(", min: %s, max: %s", exact(d.least), exact(d.most))
	switch {
	case m.Law == "fixed" || m.SD == 0 || d.most <= d.least:
		return nil, ""
	case m.Law == "bimodal":
		return m.twoParts(d), ""
	case m.Law == "uniform": // an interval about the mean, up to the nearer bound
		reach := min(m.Mean-d.least, d.most-m.Mean)
		d.kind, d.a, d.b = "uniform", math.Round(m.Mean-reach), math.Round(m.Mean+reach)
		return d, ""
	case m.Law == "exponential":
		d.kind = "exponential"
		d.holdMean(m.Mean, 1e-3*m.Mean, 1e3*m.Mean)
		return d, bounds
	}
	d.kind = map[string]string{"": "lognormal", "log_normal": "lognormal", "normal": "normal"}[m.Law]
	widths := [2]float64{1e-3 * m.SD, 1e2 * m.SD}
	d.b = m.SD
	if d.kind == "lognormal" {
		widths = [2]float64{1e-3, 8}
		d.b = math.Sqrt(math.Log1p(m.SD / m.Mean * m.SD / m.Mean)) // of the law without bounds
	}
	own := d.b
	if d.holdSpread(m, widths); !d.isNear(m) {
		d.b = own
		d.holdLocation(m)
	}
	d.b = rounded6(d.b)
	d.holdLocation(m)
	return d, bounds
}

func rounded6(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// isNear says that the standard deviation is the file's.
func (d *Distribution) isNear(m *moments) bool {
	_, sd := d.moments()
	return math.Abs(sd/m.SD-1) <= 0.02
}

// holdSpread finds the width at which the law has the file's standard deviation between its bounds, with its mean.
func (d *Distribution) holdSpread(m *moments, widths [2]float64) {
	low, high := widths[0], widths[1]
	for range 16 {
		d.b = math.Sqrt(low * high)
		d.holdLocation(m)
		if _, sd := d.moments(); sd < m.SD {
			low = d.b
		} else {
			high = d.b
		}
	}
}

// holdLocation moves the law so that it has the file's mean between its bounds.
func (d *Distribution) holdLocation(m *moments) {
	if d.kind == "lognormal" {
		d.holdMean(m.Mean, math.Log(max(d.least, 1e-3))-5*d.b, math.Log(d.most)+5*d.b)
		return
	}
	d.holdMean(m.Mean, d.least-5*d.b, d.most+5*d.b)
}

// holdMean finds the a at which the bounded law has that mean, which grows with a.
func (d *Distribution) holdMean(mean, low, high float64) {
	for range 20 {
		d.a = (low + high) / 2
		if got, _ := d.moments(); got < mean {
			low = d.a
		} else {
			high = d.a
		}
	}
	d.a = rounded6(d.a)
}

// moments are the mean and the standard deviation between the bounds, by the midpoints of equal steps of rank.
func (d *Distribution) moments() (mean, sd float64) {
	q, err := d.quantile(nil)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	const steps = 4096
	squares := 0.0
	for i := range steps {
		v := q((float64(i) + 0.5) / steps)
		mean += v / steps
		squares += v * v / steps
	}
	return mean, math.Sqrt(max(0, squares-mean*mean))
}

// twoParts are two even parts at the bounds, both as wide as it takes for the standard deviation: the catalogue says
// "bimodal" and not where the modes are. Of two parts of width w whose middles are D apart, the upper with share p, the
// variance is p(1-p) D² + w²/12.
func (m *moments) twoParts(d *Distribution) *Distribution {
	span := d.most - d.least
	share := func(width float64) float64 { return (m.Mean - d.least - width/2) / (span - width) }
	low, high := 0.0, min(span/2, 2*(m.Mean-d.least), 2*(d.most-m.Mean))
	for range 60 {
		width := (low + high) / 2
		p := share(width)
		if math.Sqrt(p*(1-p)*(span-width)*(span-width)+width*width/12) > m.SD {
			low = width
		} else {
			high = width
		}
	}
	width := math.Round(low)
	p := rounded6(share(width))
	d.kind = "histogram"
	d.buckets = []bucket{{d.least, d.least + width, 1 - p}, {d.most - width, d.most, p}}
	return d
}

// words write the distribution without its bounds.
func (d *Distribution) words() string {
	switch d.kind {
	case "lognormal":
		return fmt.Sprintf("lognormal: {mu: %s, sigma: %s}", exact(d.a), exact(d.b))
	case "normal":
		return fmt.Sprintf("normal: {mean: %s, sd: %s}", exact(d.a), exact(d.b))
	case "exponential":
		return fmt.Sprintf("exponential: {mean: %s}", exact(d.a))
	case "uniform":
		return fmt.Sprintf("uniform: {from: %s, until: %s}", exact(d.a), exact(d.b))
	default:
		var parts []string
		for _, b := range d.buckets {
			parts = append(parts, fmt.Sprintf("{from: %s, until: %s, count: %s}", exact(b.from), exact(b.until), exact(rounded6(b.count))))
		}
		return "histogram: [" + strings.Join(parts, ", ") + "]"
	}
}

// objectiveKey is a bound of the catalogue's.
var objectiveKey = regexp.MustCompile(`^(ttft|itl|tpot|e2e)_p(\d{1,2}(?:\.\d+)?)_ms$`)

// slo writes the objectives with the catalogue's own words for each.
func (w *writing) slo() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "schema: tidemark.slo/2\nname: %s\n\n# From the same config.json as the profile, with its reasons.\nobjectives:\n", strconv.Quote(w.name))
	found := false
	for _, key := range slices.Sorted(maps.Keys(w.Metadata.SLOs)) {
		if strings.HasSuffix(key, "_justification") {
			continue
		}
		parts := objectiveKey.FindStringSubmatch(key)
		ms, isNumber := w.Metadata.SLOs[key].(float64)
		if parts == nil || !isNumber || !(ms > 0) {
			return nil, hint.Errorf("metadata.slos.%s: not an objective that is known here", key).
				Hint("known are ttft, itl, tpot and e2e with a percentile, in ms: ttft_p99_ms: 1000")
		}
		found = true
		if reason, _ := w.Metadata.SLOs[key+"_justification"].(string); reason != "" {
			for _, line := range wrapped(reason, 118) {
				fmt.Fprintf(&b, "  # %s\n", line)
			}
		}
		fmt.Fprintf(&b, "  - {metric: %s, percentile: %s, at_most: %s}\n", parts[1], parts[2], time.Duration(ms*float64(time.Millisecond)))
	}
	if !found {
		return nil, nil
	}
	return []byte(b.String()), nil
}

// wrapped breaks a text between words. Line ends in it would end the comment, so they are spaces.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
