package traces

import (
	"math"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
)

// What becomes of the values of a table of requests, whatever it came from: CSV,
// JSON or Parquet. A reader fills a request with the text of each part and calls
// add; requestTable checks the parts in order, and the first that is wrong is the
// reject.

// request is one record: the text of each part, nil where the table says nothing of
// it. The texts are valid until the next record.
type request [partCount][]byte

// requestTable turns records into rows of raw.arrivals and raw.arrival_details.
// What it has to assume (units, zones, null tokens of failed requests) it notes
// once.
type requestTable struct {
	out      *read.Rows
	names    [partCount]string // what the file calls each part that it has
	units    [partCount]timeUnit
	isKnown  [partCount]bool // the unit is settled
	isSaid   bool            // the user says columns, or the unit
	saidUnit string          // of an instant whose column has none; empty: its size tells it
	clock    read.Clock
	origin   int64 // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	unsure   error // a time has no unit
	begun    bool
	tenants  read.Numbered
	people   read.Numbered // sessions whose ids are more than ids
	blocks   int64
	isNone   func(r *request) bool // tells of records that are not requests to a model; may be nil

	others    int64 // records that are none
	answered  int64 // rows that a gateway answered itself
	endsEarly int64 // rows whose end, or first token, is before their begin
	untimed   int64 // rows without output tokens of requests that failed
}

var longNames = map[timeUnit]string{asWritten: "dates with times", inSeconds: "seconds", inMillis: "milliseconds", inMicros: "microseconds", inNanos: "nanoseconds"}

// newRequestTable starts with no part known.
func newRequestTable(out *read.Rows) *requestTable {
	t := &requestTable{out: out, tenants: read.Numbered{Prefix: "tenant-"}, people: read.Numbered{Prefix: "session-"}}
	for i := range t.units {
		t.units[i] = unsaid
	}
	return t
}

// is settles that a part is in the file, under a name, in a unit.
func (t *requestTable) is(m meaning, name string) {
	t.names[m.part], t.units[m.part] = name, m.unit
	t.isKnown[m.part] = m.unit != unsaid
}

// complete checks that no part is missing that every request must have.
func (t *requestTable) complete() error {
	has := func(p part) bool { return t.names[p] != "" }
	missing := ""
	switch {
	case !has(arrivesAt):
		missing = "arrival"
	case !has(inputLength):
		missing = "input_tokens"
	case !has(outputLength) && !has(totalLength):
		missing = "output_tokens"
	default:
		return nil
	}
	return hint.Errorf("%s", "no column that is "+missing).Hint("say which one is: --column %s=NAME; known are %s", missing, oursListed)
}

// add takes in one record, or rejects it.
func (t *requestTable) add(line int64, r *request) error {
	if t.isNone != nil && t.isNone(r) {
		t.others++
		return nil
	}
	row, detail := read.Arrival{Line: line}, read.ArrivalDetail{}
	problem := t.read(r, &row, &detail)
	if t.unsure != nil {
		return t.unsure
	}
	if problem != nil {
		return t.out.Reject(line, problem.Column, problem.Reason)
	}
	return t.out.AddRequest(row, detail)
}

// read checks the parts in the order in which they depend on each other: whether a
// request failed decides whether its tokens may be missing.
func (t *requestTable) read(r *request, row *read.Arrival, detail *read.ArrivalDetail) *read.Reject {
	for p, text := range r {
		if isNull(text) {
			r[p] = nil
		}
	}
	at, problem := t.instant(r, arrivesAt)
	if problem != nil {
		return problem
	}
	steps := []func() *read.Reject{
		func() *read.Reject { return t.status(r, detail) },
		func() *read.Reject { return t.lengths(r, row, detail) },
		func() *read.Reject { return t.session(r, row, detail) },
		func() *read.Reject { return t.latencies(r, at, detail) },
		func() *read.Reject { return t.prefix(r, row) },
	}
	for _, step := range steps {
		if problem := step(); problem != nil {
			return problem
		}
	}
	if !t.begun {
		t.begin(at)
	}
	row.ArrivalNs = at - t.origin
	return nil
}

// begin settles the origin with the first row: its instant in a dated table, zero
// in a relative one.
func (t *requestTable) begin(first int64) {
	t.begun = true
	unit := t.units[arrivesAt]
	t.out.About.TimeUnit = unitNames[unit]
	if t.isSaid {
		t.out.Note("%s: read as %s", t.name(arrivesAt), longNames[unit])
	}
	const year2001 = 978_307_200_000_000_000 // Unix nanoseconds; no trace is as long as that
	if unit == asWritten || first >= year2001 {
		at := time.Unix(0, first).UTC().Truncate(time.Microsecond)
		t.origin, t.out.About.OriginAt = at.UnixNano(), &at
	}
}

// instant reads a time as nanoseconds: since 1970 where it is dated or large, since
// the trace began otherwise. The first value settles how a column is written.
func (t *requestTable) instant(r *request, p part) (int64, *read.Reject) {
	text := r[p]
	if text == nil {
		return 0, &read.Reject{Column: t.name(p), Reason: read.Missing}
	}
	if !t.isKnown[p] || t.units[p] == unsaid {
		t.settle(p, text)
	}
	if t.units[p] == asWritten {
		ns, zoned, reason := writtenInstant(&t.clock, text)
		if reason != "" {
			return 0, &read.Reject{Column: t.name(p), Reason: reason}
		}
		if !zoned && t.out.About.Zone == "" {
			t.out.About.Zone = "no zone given, read as UTC"
		}
		return ns, nil
	}
	ns, reason := stamp(text, t.units[p])
	if reason != "" {
		return 0, &read.Reject{Column: t.name(p), Reason: reason}
	}
	return ns, nil
}

// settle decides the unit of a time by its first value, and notes the decision. A number
// that is no Unix time can be anything: the user must say its unit.
func (t *requestTable) settle(p part, text []byte) {
	t.isKnown[p] = true
	if !isNumber(text) {
		t.units[p] = asWritten
		return
	}
	unit, isUnix := unitOfStamp(text)
	if digits, isSaid := unitDigits[t.saidUnit]; isSaid {
		t.units[p] = timeUnit(digits)
		return
	}
	t.units[p] = unit
	switch {
	case isUnix:
		t.out.Note("%s: read as Unix time in %s, by its size", t.name(p), unitNames[unit])
	default:
		t.unsure = hint.Errorf("%s: nothing says whether it is in seconds or milliseconds", t.names[p]).Hint("say it: --time-unit s, or --time-unit ms")
	}
}

// lengths reads the tokens. A request that failed may lack those of its answer.
// Where only the total is given, the answer is the total less the prompt.
func (t *requestTable) lengths(r *request, row *read.Arrival, detail *read.ArrivalDetail) (problem *read.Reject) {
	if row.InputTokens, problem = t.tokens(r, inputLength); problem != nil {
		return problem
	}
	switch {
	case r[outputLength] != nil:
		row.OutputTokens, problem = t.tokens(r, outputLength)
	case r[totalLength] != nil:
		row.OutputTokens, problem = t.tokens(r, totalLength)
		if row.OutputTokens -= row.InputTokens; problem == nil && row.OutputTokens < 0 {
			problem = &read.Reject{Column: t.name(totalLength), Reason: read.Negative}
		}
	case detail.IsFailed != nil && *detail.IsFailed:
		t.untimed++
	default:
		problem = &read.Reject{Column: t.name(outputLength), Reason: read.Missing}
	}
	if problem == nil && r[cachedLength] != nil {
		var cached int64
		cached, problem = t.tokens(r, cachedLength)
		detail.CachedTokens = &cached
	}
	return problem
}

// tokens reads a number of tokens that must be there.
func (t *requestTable) tokens(r *request, p part) (int64, *read.Reject) {
	if r[p] == nil {
		return 0, &read.Reject{Column: t.name(p), Reason: read.Missing}
	}
	value, reason := wholeTokens(r[p])
	if reason != "" {
		return 0, &read.Reject{Column: t.name(p), Reason: reason}
	}
	return value, nil
}

// status reads whether the request failed.
func (t *requestTable) status(r *request, detail *read.ArrivalDetail) *read.Reject {
	for _, p := range []part{failedIf, succeededIf} {
		if r[p] == nil {
			continue
		}
		said := truth(r[p])
		if said == nil {
			return &read.Reject{Column: t.name(p), Reason: NotATruth}
		}
		detail.IsFailed = new(*said == (p == failedIf))
	}
	if said := truth(r[answeredIf]); said != nil && *said {
		t.answered++
	}
	if r[statusIn] != nil && detail.IsFailed == nil {
		detail.IsFailed = failed(r[statusIn])
	}
	if t.names[errorIn] != "" && detail.IsFailed == nil {
		said := truth(r[errorIn])
		detail.IsFailed = new(r[errorIn] != nil && (said == nil || *said))
	}
	return nil
}

// session reads who is who: sessions, turns, tenants. Tenants are always numbered,
// because their names are customers.
func (t *requestTable) session(r *request, row *read.Arrival, detail *read.ArrivalDetail) (problem *read.Reject) {
	if r[sessionIn] != nil {
		if row.SessionID, problem = t.id(r, sessionIn, &t.people); problem != nil {
			return problem
		}
	}
	if r[parentIn] != nil {
		if detail.ParentSessionID, problem = t.id(r, parentIn, &t.people); problem != nil {
			return problem
		}
	}
	if r[tenantIn] != nil {
		number, ok := t.tenants.Of(string(r[tenantIn]))
		if !ok {
			return &read.Reject{Column: t.name(tenantIn), Reason: read.OutOfRange}
		}
		detail.Tenant = &number
	}
	if row.Turn, problem = t.small(r, turnIn); problem != nil {
		return problem
	}
	if detail.ParentTurn, problem = t.small(r, parentTurnIn); problem != nil {
		return problem
	}
	row.Class = t.out.Class(string(r[classIn]))
	detail.Model = maybe.Known(read.Word(string(r[modelIn])))
	return nil
}

// id keeps an id as it is, or puts a number in its place where it may be a name.
func (t *requestTable) id(r *request, p part, names *read.Numbered) (*string, *read.Reject) {
	if read.PlainID().Match(r[p]) {
		return new(string(r[p])), nil
	}
	t.out.Note("%s: ids that might be names were numbered", t.name(p))
	number, ok := names.Of(string(r[p]))
	if !ok {
		return nil, &read.Reject{Column: t.name(p), Reason: read.OutOfRange}
	}
	return &number, nil
}

// small reads a turn; a number that no turn can have is left out.
func (t *requestTable) small(r *request, p part) (*int32, *read.Reject) {
	if r[p] == nil {
		return nil, nil
	}
	value, problem := t.tokens(r, p)
	if problem != nil || value > math.MaxInt32 {
		return nil, problem
	}
	return new(int32(value)), nil
}

// latencies reads durations, or computes them from the instants of the first token
// and of the end.
func (t *requestTable) latencies(r *request, at int64, detail *read.ArrivalDetail) *read.Reject {
	for p, target := range map[part]**float64{thinksFor: &detail.ThinkS, ttftFor: &detail.TTFTS, e2eFor: &detail.E2ES} {
		if r[p] == nil || t.units[p] < 0 {
			continue
		}
		value, reason := duration(r[p], t.units[p])
		if reason != "" {
			return &read.Reject{Column: t.name(p), Reason: reason}
		}
		*target = &value
	}
	for p, target := range map[part]**float64{firstTokenAt: &detail.TTFTS, endsAt: &detail.E2ES} {
		if r[p] == nil || *target != nil {
			continue
		}
		then, problem := t.instant(r, p)
		if problem != nil {
			return problem
		}
		if then < at {
			t.endsEarly++
			continue
		}
		*target = new(float64(then-at) / 1e9)
	}
	return nil
}

// prefix reads the blocks of the prompt. Ids are of no use without the number of
// tokens that each stands for.
func (t *requestTable) prefix(r *request, row *read.Arrival) *read.Reject {
	if r[blockLength] != nil && t.blocks == 0 {
		size, problem := t.tokens(r, blockLength)
		if problem != nil {
			return problem
		}
		t.blocks = size
		t.out.About.BlockTokens = int(size)
	}
	if r[blocksIn] == nil || t.blocks == 0 {
		if r[blocksIn] != nil {
			t.out.Note("%s: left out, because no block_tokens says how many tokens a block has", t.name(blocksIn))
		}
		return nil
	}
	ids, reason := blockIDs(r[blocksIn])
	switch {
	case reason != "":
		return &read.Reject{Column: t.name(blocksIn), Reason: reason}
	case !covers(ids, int(t.blocks), row.InputTokens):
		return &read.Reject{Column: t.name(blocksIn), Reason: read.TooFewBlocks}
	case len(ids) > 0:
		row.Blocks = ids
	}
	return nil
}

// name is what the file calls a part.
func (t *requestTable) name(p part) string {
	if t.names[p] != "" {
		return t.names[p]
	}
	return map[part]string{arrivesAt: "arrival", inputLength: "input_tokens", outputLength: "output_tokens"}[p]
}

// end notes what was found out on the way.
func (t *requestTable) end() {
	for _, p := range []part{thinksFor, ttftFor, e2eFor} {
		if t.names[p] != "" && t.units[p] < 0 {
			ours := map[part]string{thinksFor: "think", ttftFor: "ttft", e2eFor: "e2e"}[p]
			t.out.Note("%s: passed over, because no unit is given; --column %s_ms=%s takes it as milliseconds", t.names[p], ours, t.names[p])
		}
	}
	if t.others > 0 {
		t.out.Note("%d lines are not requests to a model, or failed before there was one; passed over", t.others)
	}
	if t.answered > 0 {
		t.out.Note("%d requests were answered from the gateway's own cache: no server saw them; kept", t.answered)
	}
	if t.endsEarly > 0 {
		t.out.Note("%d times of a first token or an end are before the request began; left out", t.endsEarly)
	}
	if t.untimed > 0 {
		t.out.Note("%d failed requests say no output tokens; taken as 0", t.untimed)
	}
}
