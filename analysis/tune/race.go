package tune

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

// Stage two. The baseline is started first, then always the candidate that would enlarge the front most if it were as much better than expected as
// what was measured so far leaves open (learn.go). Each is asked for its capacity by a short search. What another one beats beyond both intervals
// is dropped. Where none is left that may enlarge the front, those of which it is open whether another beats them get longer searches, until that is
// decided or the budget ends.
//
// All that a race knows follows from its field and its tries, so that a killed one goes on with the tries of its journal.

// The outcomes of a try.
const (
	Served    = "served"    // there is an answer, whatever it says
	NotReady  = "not_ready" // the start failed
	Ignored   = "ignored"   // the server has other settings than asked
	Unusable  = "unusable"  // it died or changed under load, or this client was late
	sameInRow = 3           // starts that fail for one reason end the race
)

// Try is a start with what came of it.
type Try struct {
	Candidate string           `json:"candidate"` // key of the entrant
	Outcome   string           `json:"outcome"`
	Why       string           `json:"why,omitempty"` // it was not served, or not usable
	Last      []string         `json:"last_lines,omitempty"`
	Log       string           `json:"log"` // the file of what the server printed
	Answer    *capacity.Answer `json:"answer,omitempty"`
	Origin    string           `json:"origin,omitempty"` // measured or simulated
}

// Failed is a try without a usable answer.
func (t *Try) Failed(outcome, why string, last []string) {
	t.Outcome, t.Why, t.Last = outcome, why, last
}

// Answered takes the answer of a search. One that is invalid, or without a rate because the load was too little, says nothing of the candidate.
func (t *Try) Answered(a capacity.Answer, origin string) {
	t.Outcome, t.Answer, t.Origin = Served, &a, origin
	if a.Outcome == capacity.Invalid || a.Outcome == capacity.Undecided && a.RatePerS == nil && a.RateLowPerS == nil && a.RateHighPerS == nil {
		t.Outcome, t.Why = Unusable, a.Why
	}
}

// Race is stage two while it goes.
type Race struct {
	File
	Field            []Row         // who may be started, of equals the better one first; RatePerS and Full are what the rehearsal expects
	Least            time.Duration // load of the shortest search
	TokensPerRequest float64       // of output, on average
	Tries            []Try
	Ranged           int // starts of the budget that went into ranges

	places map[string]int // in the field, by key
}

// Turn is the next start.
type Turn struct {
	Row
	Load time.Duration // of this candidate's search, with all that it has had
	Why  string
}

// Precision is that of the capacity of each candidate, as a share of the rate.
const Precision = 0.05

// CheckBudget refuses one without room for a search.
func (f File) CheckBudget(q capacity.Question) error {
	if least := q.Shortest(); f.Budget.Load < least {
		return hint.Misuse("tune: budget: load %s is less than one short search sends, %s", show.Duration(f.Budget.Load.Seconds()), show.Duration(least.Seconds())).
			Hint("the baseline and each candidate that may be best get one: budget: {load: %.0fm}", math.Ceil(10*least.Minutes()))
	}
	return nil
}

// NewRace is a race of which nothing was started yet.
func (f File) NewRace(rows []Row, q capacity.Question) *Race {
	return &Race{File: f, Field: f.Entrants(rows), Least: q.Shortest(), TokensPerRequest: TokensPerRequest(q.Window)}
}

// usualScale is the largest multiple that a live search asks about at least.
const usualScale = 20

// MaxScale is the largest multiple that is asked about: twice what the rehearsal expects of any entrant, at least.
func (r *Race) MaxScale() float64 {
	most := float64(usualScale)
	for _, e := range r.Field {
		switch {
		case e.Full == nil:
		case e.Full.Outcome == capacity.AboveMax:
			most = capacity.MostScale
		case e.Full.Scale != nil:
			most = max(most, 2**e.Full.Scale)
		}
	}
	return min(most, capacity.MostScale)
}

// Entrants are who may be started: the baseline, then the knee of the rehearsal, its front and the largest rates. Of a candidate that was only rehearsed
// shortly the rate is the short one, corrected by what the baseline has in full.
func (f File) Entrants(rows []Row) (field []Row) {
	shortIs := 1.0
	if base := rows[0]; base.RatePerS > 0 && base.Short > 0 {
		shortIs = base.RatePerS / base.Short
	}
	for _, r := range rows {
		if r.Why == "" && r.Full == nil {
			r.RatePerS = shortIs * r.Short
		}
		if r.Why == "" && (r.RatePerS > 0 || r.IsBaseline) {
			field = append(field, r)
		}
	}
	slices.SortStableFunc(field, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rankOf(b), rankOf(a)), cmp.Compare(b.RatePerS, a.RatePerS))
	})
	return field
}

func rankOf(r Row) int {
	switch {
	case r.IsBaseline:
		return 3
	case r.IsKnee:
		return 2
	case r.IsOnFront:
		return 1
	}
	return 0
}

// Key names a candidate in the journal.
func (c Candidate) Key() string { return cmp.Or(strings.Join(c.Flags(), " "), "defaults") }

// standing is a rate with its 90 % interval, requests/s, and what an hour costs; 0: not known.
type standing struct{ low, rate, high, usd float64 }

// with reads an answer. What is not bounded there is not bounded here.
func (s standing) with(a *capacity.Answer) standing {
	s.high = math.Inf(1)
	switch {
	case a == nil:
	case a.Outcome == capacity.NotPossible || a.Outcome == capacity.BelowMin:
		s.high = 0
	case a.Outcome != capacity.Invalid:
		s.low, s.high = maybe.Or(a.RateLowPerS, 0), maybe.Or(a.RateHighPerS, math.Inf(1))
		s.rate = maybe.Or(a.RatePerS, s.low)
	}
	return s
}

// beats says that a is better than b in every objective: surely, by a's worse end and b's better one, or by their middles.
func (f File) beats(a, b standing, isSure bool) bool {
	best, worst := b.rate, a.rate
	if isSure {
		best, worst = b.high, a.low
	}
	isBetter := worst > best
	arePriced := a.usd > 0 && b.usd > 0
	if !arePriced || !slices.Contains(f.Objectives, LeastCost) {
		return isBetter
	}
	isCheaper := worst/a.usd > best/b.usd
	return isCheaper && (isBetter || !slices.Contains(f.Objectives, MostRate))
}

// last is the newest try of an entrant; nil: it was not started yet.
func (r *Race) last(e Row) *Try {
	for i := range slices.Backward(r.Tries) {
		if r.Tries[i].Candidate == e.Key() {
			return &r.Tries[i]
		}
	}
	return nil
}

// load is what the search has sent.
func (t *Try) load() time.Duration {
	if t == nil || t.Answer == nil {
		return 0
	}
	return time.Duration(t.Answer.LoadS * 1e9)
}

// isSpoilt says that the client was late in every run that was sent: it says nothing of the candidate, which is searched again.
func (t *Try) isSpoilt() bool { return t != nil && t.Answer != nil && t.Answer.IsClients() }

// spoilt is an entrant whose last search the client spoilt; nil: none is.
func (r *Race) spoilt() *Row {
	for _, e := range r.started() {
		if r.last(e).isSpoilt() {
			return &e
		}
	}
	return nil
}

// Answers are how many answers of a candidate's search the race has.
func (r *Race) Answers(candidate string) (n int) {
	for _, t := range r.Tries {
		if t.Candidate == candidate && t.Answer != nil {
			n++
		}
	}
	return n
}

// share is the load of the first search of each.
func (r *Race) share() time.Duration {
	return max(r.Budget.Load/time.Duration(r.starts()), r.Least)
}

// starts are those that the race may use.
func (r *Race) starts() int { return max(r.Budget.Starts-r.Ranged, 1) }

// left is what remains of the load.
func (r *Race) left() time.Duration {
	left := r.Budget.Load
	for _, e := range r.started() {
		left -= r.last(e).load()
	}
	for i, t := range r.Tries {
		if t.isSpoilt() && slices.ContainsFunc(r.Tries[i+1:], func(later Try) bool { return later.Candidate == t.Candidate }) {
			left -= t.load() // the later search does not count it
		}
	}
	return left
}

// Sent is the load of all searches.
func (r *Race) Sent() time.Duration { return r.Budget.Load - r.left() }

// Origin is where the figures come from: measured, or simulated where a server said that it is a simulator.
func (r *Race) Origin() string {
	for _, t := range r.Tries {
		if t.Origin != "" {
			return t.Origin
		}
	}
	return "measured"
}

// Next is the next start, or why there is none.
func (r *Race) Next() (turn Turn, ended string) {
	left := r.left()
	if why := r.failsForOneReason(); why != "" {
		return turn, fmt.Sprintf("%d starts in a row failed for one reason: %s", sameInRow, why)
	}
	next, why := r.promising(), "short"
	if again := r.spoilt(); again != nil {
		next, why = again, "again: of its search no run counted, for this client's sake"
	} else if next == nil || len(r.started()) >= max(2, r.starts()*3/4) { // the other starts are for longer searches
		if next, ended = r.open(); next == nil {
			return turn, ended
		}
		why = "longer: it is open whether it is beaten"
	}
	switch {
	case len(r.Tries) >= r.starts():
		return turn, fmt.Sprintf("the budget of %s is used up", show.Things(r.Budget.Starts, "start", "starts"))
	case left < r.Least:
		return turn, "the budget's load is used up"
	}
	had := time.Duration(0)
	if t := r.last(*next); !t.isSpoilt() { // a search leaves out what the client spoilt
		had = t.load()
	}
	return Turn{Row: *next, Load: had + min(max(had, r.share()), left), Why: why}, ""
}

// started are the entrants that were started, in the order of their first start.
func (r *Race) started() (started []Row) {
	if r.places == nil {
		r.places = map[string]int{}
		for i, e := range r.Field {
			r.places[e.Key()] = i
		}
	}
	seen := map[string]bool{}
	for _, t := range r.Tries {
		if at, isThere := r.places[t.Candidate]; isThere && !seen[t.Candidate] {
			seen[t.Candidate] = true
			started = append(started, r.Field[at])
		}
	}
	return started
}

// learned is what the tries say of the candidates.
func (r *Race) learned() *effects {
	e := newEffects(r.Field)
	for _, one := range r.started() {
		s, places := r.standing(one), e.of(one.Candidate)
		switch {
		case one.RatePerS <= 0:
		case s.rate <= 0:
			e.learn(places[1:], lostLn, lostOff) // it says nothing of how fast others are
		case s.low > 0 && !math.IsInf(s.high, 1):
			e.learn(places, math.Log(s.rate/one.RatePerS), math.Log(s.high/s.low)/(2*1.645))
		default: // one side is open
			e.learn(places, math.Log(s.rate/one.RatePerS), allOff)
		}
	}
	return e
}

// promising is the next to start for the first time: the baseline, then the one that may enlarge the front most; nil: none does by more than the precision.
func (r *Race) promising() (next *Row) {
	if len(r.Tries) == 0 && len(r.Field) > 0 {
		return &r.Field[0]
	}
	most := math.Log1p(Precision)
	for i, gain := range r.gains() {
		if gain > most {
			next, most = &r.Field[i], gain
		}
	}
	return next
}

// Left are candidates that may enlarge the front and had no start.
func (r *Race) Left() (n int) {
	for _, gain := range r.gains() {
		if gain > math.Log1p(Precision) {
			n++
		}
	}
	return n
}

// gains are how much better than what was measured each entrant that was not started may be, ln, one standard deviation above what is expected of it: by
// the objective in which it is ahead most, of the one that it is ahead of least.
func (r *Race) gains() []float64 {
	gains, started, learned := make([]float64, len(r.Field)), r.started(), r.learned()
	wasStarted := map[string]bool{}
	for _, e := range started {
		wasStarted[e.Key()] = true
	}
	for i, e := range r.Field {
		if gains[i] = math.Inf(1); wasStarted[e.Key()] || e.RatePerS <= 0 {
			gains[i] = 0
			continue
		}
		mean, off := learned.guess(e.Candidate)
		best := standing{rate: e.RatePerS * math.Exp(mean+off), usd: e.USDPerHour}
		for _, other := range started {
			if s := r.standing(other); s.rate > 0 {
				gains[i] = min(gains[i], r.ahead(best, s))
			}
		}
		if math.IsInf(gains[i], 1) { // nothing keeps the SLO so far
			gains[i] = 1 + math.Log1p(best.rate)
		}
	}
	return gains
}

// ahead is by how much a is ahead of b in the objective where that is most, ln.
func (f File) ahead(a, b standing) float64 {
	rate, perUSD := math.Log(a.rate/b.rate), math.Log(a.rate/b.rate*b.usd/a.usd)
	switch {
	case a.usd <= 0 || b.usd <= 0 || !slices.Contains(f.Objectives, LeastCost):
		return rate
	case !slices.Contains(f.Objectives, MostRate):
		return perUSD
	}
	return max(rate, perUSD)
}

// open is, of the entrants of which another one's interval leaves open which of them is better, or whether any load is within the SLO, the one that had least load.
func (r *Race) open() (next *Row, ended string) {
	ended = "what is best is decided"
	started := r.started()
	if !slices.ContainsFunc(started, r.isRunning) {
		ended = "no candidate is left"
	}
	for i, a := range started {
		isOpen := r.isUnknown(a) || r.isRunning(a) && slices.ContainsFunc(started, func(b Row) bool { return r.isRunning(b) && (r.isClose(a, b) || r.isClose(b, a)) })
		switch {
		case !isOpen:
		case r.isDone(a):
			ended = "longer searches would not tell the best apart"
		case next == nil || r.last(a).load() < r.last(*next).load():
			next = &started[i]
		}
	}
	return next, ended
}

// standing of an entrant as measured.
func (r *Race) standing(e Row) standing {
	s := standing{usd: e.USDPerHour}
	if t := r.last(e); t != nil && t.Outcome == Served {
		return s.with(t.Answer)
	}
	return s
}

// isRunning says that an entrant keeps the SLO and that nothing beats it beyond doubt.
func (r *Race) isRunning(e Row) bool { return r.standing(e).rate > 0 && r.beaten(e) == nil }

// isUnknown says that a search has not shown yet whether any load is within the SLO.
func (r *Race) isUnknown(e Row) bool {
	t := r.last(e)
	return t != nil && t.Outcome == Served && t.Answer.Outcome == capacity.Undecided && r.standing(e).rate <= 0 && r.beaten(e) == nil
}

// isClose says that a beats b by the middle, and perhaps not.
func (r *Race) isClose(a, b Row) bool {
	return r.beats(r.standing(a), r.standing(b), false) && !r.beats(r.standing(a), r.standing(b), true)
}

// beaten is the one with the largest rate that beats an entrant beyond doubt; nil: none does.
func (r *Race) beaten(e Row) (by *Row) {
	started := r.started()
	for i, other := range started {
		if r.beats(r.standing(other), r.standing(e), true) && (by == nil || r.standing(other).rate > r.standing(*by).rate) {
			by = &started[i]
		}
	}
	return by
}

// isDone says that more load would not narrow an entrant's interval: the search has its answer, or sent nothing more when it had more.
func (r *Race) isDone(e Row) bool {
	var loads []float64
	for _, t := range r.Tries {
		if t.Candidate == e.Key() && t.Answer != nil {
			loads = append(loads, t.Answer.LoadS)
		}
	}
	n := len(loads)
	return r.last(e).Answer.Outcome != capacity.Undecided || n > 1 && loads[n-1] <= loads[n-2]
}

var numbers = regexp.MustCompile(`[0-9]+`)

// failsForOneReason is the reason for which the last starts have failed; their numbers, such as sizes and addresses, may differ.
func (r *Race) failsForOneReason() string {
	if len(r.Tries) < sameInRow {
		return ""
	}
	last := r.Tries[len(r.Tries)-sameInRow:]
	for _, t := range last {
		if t.Outcome == Served || numbers.ReplaceAllString(t.Why, "") != numbers.ReplaceAllString(last[0].Why, "") {
			return ""
		}
	}
	return last[0].Why
}

// Finisher is an entrant at the end.
type Finisher struct {
	Row                      // with what was measured; of one that was not, nothing
	Expected                 // by the rehearsal
	Low, Rate, High float64  // measured, with its 90 % interval, requests/s; High may be infinite
	OffRatio        *float64 // measured over expected, less one
	PerJ            *float64 // output tokens per joule, of which the race knows nothing: the caller fills it in
	Rejected        string   // why it is not to be set; empty: it may be
	Tried           []Try
}

// Expected is what stage one said.
type Expected struct {
	ExpectedPerS, ExpectedLowPerS, ExpectedHighPerS float64
	ExpectedUSD                                     *float64
}

// Finish are the entrants that were started, with the front and the knee of what was measured.
func (r *Race) Finish() []Finisher {
	started := r.started()
	rows := make([]Row, len(started))
	finishers := make([]Finisher, len(started))
	for i, e := range started {
		before, now := standing{usd: e.USDPerHour}.with(e.Full), r.standing(e)
		f := Finisher{Expected: Expected{before.rate, before.low, before.high, e.USDPerMillion}, Low: now.low, Rate: now.rate, High: now.high, Rejected: r.rejects(e)}
		rows[i] = Row{Candidate: e.Candidate, Class: e.Class, Short: e.Short, USDPerHour: e.USDPerHour, RatePerS: now.rate}
		for _, t := range r.Tries {
			if t.Candidate == e.Key() {
				f.Tried = append(f.Tried, t)
			}
		}
		if t := r.last(e); t != nil {
			rows[i].Full = t.Answer
		}
		if now.rate > 0 {
			rows[i].USDPerMillion = AcceptedCost(*rows[i].Full, r.TokensPerRequest, rows[i].RatePerS, rows[i].USDPerHour)
			if before.rate > 0 {
				off := now.rate/before.rate - 1
				f.OffRatio = &off
			}
		}
		if f.Rejected != "" {
			rows[i].RatePerS = 0 // it is not on the front
		}
		finishers[i] = f
	}
	r.markFront(rows)
	for i := range rows {
		finishers[i].Row = rows[i]
	}
	return finishers
}

// rejects is why an entrant is not to be set; empty: it may be, or was not started.
func (r *Race) rejects(e Row) string {
	t, by := r.last(e), r.beaten(e)
	switch {
	case t == nil:
		return ""
	case t.Outcome != Served:
		return t.Why
	case r.isUnknown(e):
		return "no load is shown to be within the SLO: " + t.Answer.Why
	case r.standing(e).rate <= 0 && t.Answer.Outcome != capacity.Undecided:
		return "does not keep the SLO: " + cmp.Or(t.Answer.Why, t.Answer.Outcome)
	case by != nil:
		return fmt.Sprintf("takes at most %s/s, and %s takes %s at least", show.Figures(r.standing(e).high), by.Label(), show.Figures(r.standing(*by).low))
	}
	return ""
}

// Ending is how a race went.
type Ending int

const (
	Chosen    Ending = iota
	NoneKeeps        // no candidate keeps the SLO
	NoneServed
)

// Ending says whether there is something to set.
func (r *Race) Ending() Ending {
	ending := NoneServed
	for _, e := range r.started() {
		t := r.last(e)
		if r.standing(e).rate > 0 {
			return Chosen
		}
		if t != nil && t.Outcome == Served {
			ending = NoneKeeps
		}
	}
	return ending
}
