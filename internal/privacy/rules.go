//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/lazy"
	"tidemark/internal/show"
)

// The eight rules, and why each is there:
//
// 1. No free text: a prompt or a name would identify its author.
// 2. Ids say nothing without the key: otherwise a session or a block could be looked up in the original system.
// 3. No cell of fewer than k requests: whoever is alone in a cell is known by it.
// 4. No exact lengths: a long exact length is a fingerprint, and so is the longest prompt of a class.
// 5. No exact times, and no dates: a stranger may know when one request was sent.
// 6. No user with a large share: the totals would describe that user.
// 7. Noise, where it was asked for: k protects against one question, not against the difference of two.
// 8. A manifest that fits the bytes: without it nobody knows how the file was made.
//
// The rules judge what can be seen in a file. They cannot see whether the key
// was thrown away.

// Verdict is the result of one rule for one source or file.
type Verdict struct {
	Rule    int    `json:"rule"`
	Truth   string `json:"truth"`
	Verdict string `json:"verdict"`
	Figures string `json:"figures"`
}

// What a verdict can be. NothingOfIt is for a rule whose subject is missing,
// such as prefix ids in a histogram.
const (
	Holds       = "pass"
	Fails       = "FAIL"
	NothingOfIt = "pass, none"

	// NotAnonymous is for a trace, and for a histogram with small cells. A
	// trace is not k-anonymous even if it passes every rule.
	NotAnonymous = "not k-anonymous"
)

// Terms are what whoever must agree to an export demands.
type Terms struct {
	K       int64
	UserCap float64
}

// subject is what the rules examine: a trace or a histogram, as it was read.
type subject struct {
	columns  []textColumn
	foreign  []string // findings: columns that are not on the list, have a wrong type or hold what they must not
	trace    *Trace
	lengths  []lengthCell
	rates    []rateCell
	isTrace  bool
	isOther  bool // neither: metrics, results of other tools
	manifest *Manifest
	problem  string // of the manifest

	documents int // files of an operator's own words that the warehouse holds
}

// lengthCell and rateCell are lines of the two tables of a histogram. A bound
// of -1 is open.
type lengthCell struct {
	fromS, untilS float64
	class, client string
	bounds        [4]int64
	requests      float64
}

type rateCell struct {
	fromS, untilS float64
	class         string
	requests      float64
}

// textColumn describes what stands in a column of text.
type textColumn struct {
	name      string
	values    int64
	length    int64 // of all together
	unfit     int64 // neither a number, an id nor one short word
	noWords   int64 // of a class: addresses, keys, sentences
	mayBeLong bool  // a program's own: labels, names of kernels
}

const (
	maxMeanLength = 64
	maxUnfit      = 0.02
)

// fit matches an id or a word of a fixed set. What people write contains
// spaces.
var fit = lazy.Regexp(aFit)

const aFit = `^[A-Za-z0-9_.:/+@#=-]{1,64}$`

func (c *textColumn) add(value string) {
	c.values++
	c.length += int64(len(value))
	if !fit().MatchString(value) {
		c.unfit++
	}
	if c.name == "class" && !isWord(value) {
		c.noWords++
	}
}

// problem judges a column by its mean length and by the share of values that do
// not fit: a few odd values are typing mistakes, many are prose.
func (c *textColumn) problem() string {
	mean, unfit := float64(c.length)/float64(max(c.values, 1)), float64(c.unfit)/float64(max(c.values, 1))
	switch {
	case mean > maxMeanLength && !c.mayBeLong:
		return fmt.Sprintf("%s: %.0f characters on average", c.name, mean)
	case unfit > maxUnfit:
		return fmt.Sprintf("%s: %.3g %% of its values are neither ids nor words", c.name, 100*unfit)
	case c.noWords > 0:
		return fmt.Sprintf("%s: %d of its values are not words but texts, addresses or keys", c.name, c.noWords)
	}
	return ""
}

func (s *subject) verdicts(terms Terms) []Verdict {
	rules := []struct {
		truth string
		judge func(Terms) (string, string)
	}{
		{"no free text", s.noText},
		{"ids say nothing without the key", s.keyedIds},
		{"no cell of fewer than k", s.noSmallCells},
		{"no exact lengths", s.noExactLengths},
		{"no exact times", s.noExactTimes},
		{"no user stands out", s.noHeavyUser},
		{"noise as asked for", s.noiseAsAsked},
		{"a manifest that fits", s.manifestFits},
	}
	var verdicts []Verdict
	for i, rule := range rules {
		verdict, figures := rule.judge(terms)
		if i > 0 && s.isOther {
			continue // what is no trace has text columns and no requests
		}
		verdicts = append(verdicts, Verdict{i + 1, rule.truth, verdict, figures})
	}
	return verdicts
}

// anonymity says whether every request hides among k others. It is not a rule,
// because no trace with times can keep it.
func (s *subject) anonymity(terms Terms) Verdict {
	v := Verdict{Truth: "k-anonymous"}
	switch {
	case s.isOther:
		v.Verdict, v.Figures = NothingOfIt, "no requests in it"
	case s.isTrace:
		alone, all := s.trace.uniqueRows(), max(len(s.trace.Rows), 1)
		v.Verdict, v.Figures = NotAnonymous, fmt.Sprintf("a trace with times never is, and %.3g %% of these requests are the only ones in their second with their lengths; export histograms for that",
			100*float64(alone)/float64(all))
	default:
		v.Verdict, v.Figures = s.noSmallRows(terms)
		if v.Verdict == Fails {
			v.Verdict = NotAnonymous
		}
	}
	return v
}

func failed(format string, args ...any) (string, string) { return Fails, fmt.Sprintf(format, args...) }
func holds(format string, args ...any) (string, string)  { return Holds, fmt.Sprintf(format, args...) }
func nothing(format string, args ...any) (string, string) {
	return NothingOfIt, fmt.Sprintf(format, args...)
}

// either passes if the condition holds.
func either(isKept bool, format string, args ...any) (string, string) {
	if isKept {
		return holds(format, args...)
	}
	return failed(format, args...)
}

// noText is rule 1: every column is on the list and holds ids and words only.
// Files that an operator keeps in the warehouse as they are cannot be judged;
// the verdict asks to read them.
func (s *subject) noText(Terms) (string, string) {
	problems := slices.Clone(s.foreign)
	var found []string
	for _, column := range s.columns {
		if problem := column.problem(); problem != "" {
			problems = append(problems, problem)
		}
		if column.values > 0 {
			found = append(found, column.name)
		}
	}
	documents := ""
	if s.documents > 0 {
		documents = "; " + show.Things(s.documents, "file", "files") + " in an operator's own words, kept byte by byte: read them before they leave"
	}
	switch {
	case len(problems) > 0:
		slices.Sort(problems)
		return failed("%s%s", strings.Join(problems, "; "), documents)
	case len(found) == 0:
		return holds("no column of text%s", documents)
	}
	return holds("only columns of ids and words: %s%s", strings.Join(found, ", "), documents)
}

var pseudonym = lazy.Regexp(`^[0-9a-f]{16}$`)

func foreignNames(list []string) (n int) {
	for _, name := range list {
		if name != "" && name != other && !pseudonym().MatchString(name) {
			n++
		}
	}
	return n
}

// keyedIds is rule 2: sessions and tenants are named by 64 bits in hexadecimal,
// and prefix ids are numbered without gaps, in an order that is not that of
// their first use. The bytes can only show that they look keyed.
func (s *subject) keyedIds(Terms) (string, string) {
	if !s.isTrace {
		var clients []string
		for _, cell := range s.lengths {
			clients = append(clients, cell.client)
		}
		if n := foreignNames(clients); n > 0 {
			return failed("%d cells name a client without a pseudonym", n)
		}
		return nothing("no prefix ids in a histogram")
	}
	var problems, found []string
	for _, kind := range []struct {
		what string
		list []string
	}{{"sessions", s.trace.Sessions}, {"tenants", s.trace.Tenants}} {
		if n := foreignNames(kind.list); n > 0 {
			problems = append(problems, fmt.Sprintf("%d of %d %s are not pseudonyms of 64 bits", n, len(kind.list)-1, kind.what))
		}
		if len(kind.list) > 1 {
			found = append(found, show.Things(len(kind.list)-1, kind.what[:len(kind.what)-1], kind.what))
		}
	}
	firsts := s.trace.firstUses()
	if len(firsts) > 0 {
		said, problem := orderOf(firsts)
		if problem != "" {
			problems = append(problems, problem)
		}
		found = append(found, said)
	}
	switch {
	case len(problems) > 0:
		return failed("%s", strings.Join(problems, "; "))
	case len(found) == 0:
		return nothing("no ids")
	}
	return holds("%s: they look like keyed ids; the bytes cannot prove that a key made them", strings.Join(found, ", "))
}

// firstUses are the prefix ids in the order of their first use.
func (t *Trace) firstUses() (ids []uint64) {
	seen := map[uint64]bool{}
	for _, row := range t.Rows {
		for _, id := range row.Blocks {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// tellingIds: with fewer ids than this, any order may be chance.
const tellingIds = 30

// orderOf compares the numbering of ids with the order of their first use by
// Spearman's rank correlation. By chance it has a standard deviation of
// 1/sqrt(n); five of these are allowed.
func orderOf(firsts []uint64) (said, problem string) {
	n := len(firsts)
	if highest := slices.Max(firsts); highest != uint64(n-1) {
		return "", fmt.Sprintf("%d prefix ids are not numbered from 0 without gaps: they may be hashes", n)
	}
	if n < tellingIds {
		return fmt.Sprintf("%d prefix ids, too few to see an order in", n), ""
	}
	r, most := rankCorrelation(firsts), 5/math.Sqrt(float64(n))
	said = fmt.Sprintf("%d prefix ids numbered without gaps, in no order of use (rank correlation %.2g, by chance up to %.2g)", n, r, most)
	if math.Abs(r) > most {
		return "", fmt.Sprintf("%d prefix ids follow the order of their first use (rank correlation %.2g, by chance up to %.2g): no key has mixed them", n, r, most)
	}
	return said, ""
}

// noSmallCells is rule 3. In a trace it can only require that a class or tenant
// has k requests, and that a class is not of one user alone. A trace has no
// cells: most of its requests are the only ones in their second with their
// lengths, and the verdict says so.
func (s *subject) noSmallCells(terms Terms) (string, string) {
	if !s.isTrace {
		return s.noSmallRows(terms)
	}
	t := s.trace
	if int64(len(t.Rows)) < terms.K {
		return failed("%s in all, k is %d", show.Things(len(t.Rows), "request", "requests"), terms.K)
	}
	users, _ := t.users()
	classes, tenants := make([]group, len(t.Classes)), make([]int64, len(t.Tenants))
	for i, row := range t.Rows {
		classes[row.Class] = classes[row.Class].with(group{1, users[i]})
		tenants[row.Tenant]++
	}
	used := 0
	for _, g := range classes {
		if g.requests > 0 {
			used++
		}
	}
	for _, g := range classes {
		switch {
		case g.requests > 0 && g.requests < terms.K:
			return failed("a class of %s, k is %d", show.Things(g.requests, "request", "requests"), terms.K)
		case g.requests > 0 && g.user != several && used > 1:
			return failed("a class of %s that are all of one user", show.Things(g.requests, "request", "requests"))
		}
	}
	for _, n := range tenants {
		if n > 0 && n < terms.K {
			return failed("a tenant of %s, k is %d", show.Things(n, "request", "requests"), terms.K)
		}
	}
	alone := t.uniqueRows()
	return nothing("classes and tenants are of %d or more; a trace has no cells: %d of %d requests (%.3g %%) are the only ones in their second with their lengths",
		terms.K, alone, len(t.Rows), 100*float64(alone)/float64(len(t.Rows)))
}

// uniqueRows is the number of requests whose second and lengths no other
// request shares.
func (t *Trace) uniqueRows() (n int) {
	type mark struct{ second, input, output int64 }
	of := func(r *Row) mark { return mark{floorTo(r.At, second), r.Input, r.Output} }
	with := make(map[mark]int, len(t.Rows))
	for i := range t.Rows {
		with[of(&t.Rows[i])]++
	}
	for _, requests := range with {
		if requests == 1 {
			n++
		}
	}
	return n
}

// noSmallRows is rule 3 for a histogram: neither a cell, nor a difference of
// its two tables, is smaller than k.
func (s *subject) noSmallRows(terms Terms) (string, string) {
	small, least := 0, math.Inf(1)
	look := func(requests float64) {
		if requests != 0 && !(requests >= float64(terms.K)) { // NaN counts as small
			small++
		}
		if requests != 0 {
			least = min(least, requests)
		}
	}
	for _, cell := range s.lengths {
		look(cell.requests)
	}
	for _, cell := range s.rates {
		look(cell.requests)
	}
	cells := len(s.lengths) + len(s.rates)
	if cells == 0 {
		return nothing("no cells")
	}
	if small > 0 {
		return failed("%d of %d cells are of fewer than k = %d, the smallest of %.6g", small, cells, terms.K, least)
	}
	if s.manifest != nil && s.manifest.Parameters.Epsilon > 0 {
		return holds("%d cells of k = %d or more, the smallest of %.6g; the difference of rates and cells is noise", cells, terms.K, least)
	}
	looked, problem := differences(s.lengths, s.rates, terms.K)
	if problem != "" {
		return failed("%s", problem)
	}
	return holds("%d cells of k = %d or more, the smallest of %.6g; %d differences of rates and cells are zero or at least k", cells, terms.K, least, looked)
}

// noExactLengths is rule 4: all lengths are rungs, and the longest of a class
// is shared by k requests.
func (s *subject) noExactLengths(terms Terms) (string, string) {
	off := 0
	if !s.isTrace {
		for _, cell := range s.lengths {
			for _, bound := range cell.bounds {
				if bound >= 0 && !isRung(bound+1) {
					off++
				}
			}
		}
		return either(off == 0, "%d of %d bounds are not of the ladder (16 tokens or 2 %%)", off, 4*len(s.lengths))
	}
	for i := range s.trace.Rows {
		row := &s.trace.Rows[i]
		if !isRung(row.Input) || !isRung(row.Output) && middle(row.Output) != row.Output {
			off++
		}
	}
	if off > 0 {
		return failed("%d of %d requests have a length that is not of the ladder (16 tokens or 2 %%)", off, len(s.trace.Rows))
	}
	top := min(fewestAtTop(s.trace, input), fewestAtTop(s.trace, output))
	return either(top >= terms.K, "all lengths are of the ladder (16 tokens or 2 %%); the longest of a class is that of %d requests or more, k is %d", top, terms.K)
}

// unevenByChance bounds the unevenness of n requests, times sqrt(n). Chance
// exceeds it in one of a million traces: the limit of the Kolmogorov
// distribution is 2 exp(-2 x^2) = 1e-6.
const unevenByChance = 2.7

// noExactTimes is rule 5: times lie inside their tick as if thrown there at
// random, to the millisecond, and the trace does not start at a real date. For
// a histogram, windows are whole minutes and hours that start at zero.
func (s *subject) noExactTimes(terms Terms) (string, string) {
	tick, keepsWeekday := time.Second, false
	if s.manifest != nil {
		tick, keepsWeekday = time.Duration(s.manifest.Parameters.TickS*1e9), s.manifest.Parameters.KeepsWeekday
	}
	if tick < time.Second {
		return failed("the manifest says ticks of %s", tick)
	}
	if !s.isTrace {
		off := 0
		for _, cell := range s.rates {
			if math.Mod(cell.fromS, 60) != 0 || math.Mod(cell.untilS, 60) != 0 {
				off++
			}
		}
		for _, cell := range s.lengths {
			if math.Mod(cell.fromS, 3600) != 0 || math.Mod(cell.untilS, 3600) != 0 {
				off++
			}
		}
		if begin := s.begin(); off == 0 && begin >= 3600 {
			return failed("the first window starts %.0f s after zero, not in the first hour: it may be a date", begin)
		}
		if s.reachesBeyond() {
			return failed("cells of hours after the last window of the rates: they may be dates")
		}
		return either(off == 0, "%d windows are not of whole hours, or minutes of the rates", off)
	}
	if problem := s.trace.zeroProblem(keepsWeekday); problem != "" {
		return failed("%s", problem)
	}
	if problem := s.trace.thinkProblem(int64(tick), terms.K); problem != "" {
		return failed("%s", problem)
	}
	fine := 0
	inside := make([]int64, len(s.trace.Rows))
	for i, row := range s.trace.Rows {
		if row.At%int64(time.Millisecond) != 0 {
			fine++
		}
		inside[i] = row.At - floorTo(row.At, int64(tick))
	}
	if fine > 0 {
		return failed("%d of %d times are finer than a millisecond", fine, len(inside))
	}
	uneven, most := unevenness(inside, int64(tick)), unevenByChance/math.Sqrt(float64(len(inside)))
	return either(uneven <= most, "requests lie inside their %s as chance puts them: %.3g from even, by chance up to %.3g", tick, uneven, most)
}

// zeroProblem checks that a trace starts where an export does: in its own first
// minute, or dated in one of the weeks that shift draws from.
func (t *Trace) zeroProblem(keepsWeekday bool) string {
	first := t.Rows[0].At
	switch {
	case t.IsDated && !keepsWeekday:
		return "dated: from " + time.Unix(0, first).UTC().Format(time.DateOnly)
	case t.IsDated && (first < firstMonday.UnixNano() || first >= firstMonday.UnixNano()+weeks*week):
		return fmt.Sprintf("dated from %s: not of the weeks that an export is moved to", time.Unix(0, first).UTC().Format(time.DateOnly))
	case !t.IsDated && (first < 0 || first >= minute):
		return fmt.Sprintf("begins at second %.0f instead of its own first minute: it may be a date", float64(first)/1e9)
	}
	return ""
}

// reachesBeyond reports whether a cell belongs to an hour after the last window
// of the rates.
func (s *subject) reachesBeyond() bool {
	last := 0.0
	for _, cell := range s.rates {
		last = max(last, cell.untilS)
	}
	return len(s.rates) > 0 && slices.ContainsFunc(s.lengths, func(c lengthCell) bool { return c.fromS >= last && c.untilS > c.fromS })
}

// begin is the start of a histogram's first window, in seconds.
func (s *subject) begin() float64 {
	first := math.Inf(1)
	for _, cell := range s.rates {
		first = min(first, cell.fromS)
	}
	for _, cell := range s.lengths {
		if cell.untilS > cell.fromS {
			first = min(first, cell.fromS)
		}
	}
	if math.IsInf(first, 1) {
		return 0
	}
	return first
}

// unevenness is the distance of the places inside a tick from the uniform
// distribution (Kolmogorov and Smirnov).
func unevenness(places []int64, tick int64) (largest float64) {
	slices.Sort(places)
	n := float64(len(places))
	for i, at := range places {
		share := float64(at) / float64(tick)
		largest = max(largest, math.Abs(share-float64(i)/n), math.Abs(share-float64(i+1)/n))
	}
	return largest
}

// noHeavyUser is rule 6: no user has more than UserCap of the requests.
func (s *subject) noHeavyUser(terms Terms) (string, string) {
	if !s.isTrace {
		return s.noHeavyClient(terms)
	}
	users, some := s.trace.users()
	if !some {
		return nothing("no tenants and no sessions")
	}
	counts, _ := countsOf(users)
	largest := slices.Max(counts)
	share := float64(largest) / float64(len(users))
	return either(share <= terms.UserCap, "the largest of %d users has %d of %d requests, %.3g %%; %.3g %% are allowed",
		len(counts), largest, len(users), 100*share, 100*terms.UserCap)
}

func (s *subject) noHeavyClient(terms Terms) (string, string) {
	sums, total, largest := map[string]float64{}, 0.0, 0.0
	for _, cell := range s.lengths {
		total += cell.requests
		if cell.client != "" && cell.client != other {
			sums[cell.client] += cell.requests
			largest = max(largest, sums[cell.client])
		}
	}
	if len(sums) == 0 {
		return nothing("no clients")
	}
	return either(largest <= terms.UserCap*total, "the largest of %d clients has %.3g %%; %.3g %% are allowed",
		len(sums), 100*largest/total, 100*terms.UserCap)
}

// noiseAsAsked is rule 7. Noise cannot be seen in the counts; the verdict
// repeats what the manifest says.
func (s *subject) noiseAsAsked(Terms) (string, string) {
	switch {
	case s.isTrace:
		return nothing("no counts in a trace")
	case s.manifest == nil || s.manifest.Parameters.Epsilon == 0:
		return nothing("no noise was asked for")
	}
	p := s.manifest.Parameters
	return holds("epsilon %g for %s", p.Epsilon, p.EpsilonCovers)
}

// manifestFits is rule 8: a manifest lies next to the file and its fingerprints
// fit.
func (s *subject) manifestFits(Terms) (string, string) {
	switch {
	case s.problem != "":
		return failed("%s", s.problem)
	case s.manifest == nil:
		return failed("no FILE%s next to it, so nothing says how it was made", manifestEnding)
	}
	return holds("made by tidemark %s with k = %d, ticks of %gs, cap %g; key %s", s.manifest.Version,
		s.manifest.Parameters.K, s.manifest.Parameters.TickS, s.manifest.Parameters.UserCap, s.manifest.Parameters.Key)
}
