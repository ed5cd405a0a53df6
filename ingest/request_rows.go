package ingest

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// record is one request of a foreign table: the text of each part, nil where
// the table says nothing of it. The texts are good until the next record.
type request [partCount][]byte

// requestTable turns records into rows of raw.arrivals and raw.arrival_details.
type requestTable struct {
	out     *rows
	names   [partCount]string // what the file calls each part that it has
	units   [partCount]timeUnit
	isKnown [partCount]bool // the unit is settled
	clock   clock
	origin  int64 // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	begun   bool
	tenants numbered
	people  numbered // sessions whose ids are more than ids
	blocks  int64
	texts   map[string]bool       // names of columns that hold text
	isNone  func(r *request) bool // tells of records that are no requests to a model; may be nil

	others    int64 // records that are none
	answered  int64 // rows that a gateway answered itself
	endsEarly int64 // rows whose end, or first token, is before their begin
	untimed   int64 // rows without output tokens of requests that failed
}

func newRequestTable(out *rows) *requestTable {
	t := &requestTable{out: out, tenants: numbered{prefix: "tenant-"}, people: numbered{prefix: "session-"}}
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

// complete sees that no part is missing that every request must have.
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
	row := arrivalRow{Line: line}
	detail := arrivalDetailRow{Line: line}
	problem := t.read(r, &row, &detail)
	if problem != nil {
		return t.out.reject(line, problem.column, problem.reason)
	}
	if err := t.out.add(row); err != nil {
		return err
	}
	if (detail == arrivalDetailRow{Line: line}) {
		return nil
	}
	return t.out.add(detail)
}

func (t *requestTable) read(r *request, row *arrivalRow, detail *arrivalDetailRow) *reject {
	for p, text := range r {
		if isNull(text) {
			r[p] = nil
		}
	}
	at, problem := t.instant(r, arrivesAt)
	if problem != nil {
		return problem
	}
	steps := []func() *reject{
		func() *reject { return t.status(r, detail) },
		func() *reject { return t.lengths(r, row, detail) },
		func() *reject { return t.session(r, row, detail) },
		func() *reject { return t.latencies(r, at, detail) },
		func() *reject { return t.prefix(r, row) },
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

// begin settles where the file's clock is zero.
func (t *requestTable) begin(first int64) {
	t.begun = true
	unit := t.units[arrivesAt]
	t.out.about.timeUnit = unitNames[unit]
	const year2001 = 978_307_200_000_000_000 // Unix nanoseconds; no trace is as long as that
	if unit == asWritten || first >= year2001 {
		at := time.Unix(0, first).UTC().Truncate(time.Microsecond)
		t.origin, t.out.about.originAt = at.UnixNano(), &at
	}
}

// instant reads a time as nanoseconds: since 1970 where it is dated or large, and
// since the trace began where not. The first value settles how a column is
// written.
func (t *requestTable) instant(r *request, p part) (int64, *reject) {
	text := r[p]
	if text == nil {
		return 0, &reject{column: t.name(p), reason: isMissing}
	}
	if !t.isKnown[p] || t.units[p] == unsaid {
		t.settle(p, text)
	}
	if t.units[p] == asWritten {
		ns, zoned, reason := t.clock.writtenInstant(text)
		if reason != "" {
			return 0, &reject{column: t.name(p), reason: reason}
		}
		if !zoned && t.out.about.zone == "" {
			t.out.about.zone = "no zone given, read as UTC"
		}
		return ns, nil
	}
	ns, reason := stamp(text, t.units[p])
	if reason != "" {
		return 0, &reject{column: t.name(p), reason: reason}
	}
	return ns, nil
}

func (t *requestTable) settle(p part, text []byte) {
	t.isKnown[p] = true
	if !isNumber(text) {
		t.units[p] = asWritten
		return
	}
	unit, isUnix := unitOfStamp(text)
	t.units[p] = unit
	switch {
	case isUnix:
		t.out.note("%s: read as Unix time in %s, by its size", t.name(p), unitNames[unit])
	case p == arrivesAt:
		t.out.note("%s: no unit is said; read as seconds since the trace began, --column arrival_ms=%s says otherwise", t.name(p), t.name(p))
	}
}

// lengths reads the tokens. A request that failed may lack those of its answer.
func (t *requestTable) lengths(r *request, row *arrivalRow, detail *arrivalDetailRow) (problem *reject) {
	if row.InputTokens, problem = t.tokens(r, inputLength); problem != nil {
		return problem
	}
	switch {
	case r[outputLength] != nil:
		row.OutputTokens, problem = t.tokens(r, outputLength)
	case r[totalLength] != nil:
		row.OutputTokens, problem = t.tokens(r, totalLength)
		if row.OutputTokens -= row.InputTokens; problem == nil && row.OutputTokens < 0 {
			problem = &reject{column: t.name(totalLength), reason: negative}
		}
	case detail.IsFailed != nil && *detail.IsFailed:
		t.untimed++
	default:
		problem = &reject{column: t.name(outputLength), reason: isMissing}
	}
	if problem == nil && r[cachedLength] != nil {
		var cached int64
		cached, problem = t.tokens(r, cachedLength)
		detail.CachedTokens = &cached
	}
	return problem
}

func (t *requestTable) tokens(r *request, p part) (int64, *reject) {
	if r[p] == nil {
		return 0, &reject{column: t.name(p), reason: isMissing}
	}
	value, reason := wholeTokens(r[p])
	if reason != "" {
		return 0, &reject{column: t.name(p), reason: reason}
	}
	return value, nil
}

// status reads whether the request failed.
func (t *requestTable) status(r *request, detail *arrivalDetailRow) *reject {
	for _, p := range []part{failedIf, succeededIf} {
		if r[p] == nil {
			continue
		}
		said := truth(r[p])
		if said == nil {
			return &reject{column: t.name(p), reason: notATruth}
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

// plainID is an id that cannot be a name of somebody with a blank or an @ in it.
var plainID = regexp.MustCompile(`^[A-Za-z0-9._:/#+-]{1,128}$`)

func (t *requestTable) session(r *request, row *arrivalRow, detail *arrivalDetailRow) (problem *reject) {
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
		number, ok := t.tenants.of(string(r[tenantIn]))
		if !ok {
			return &reject{column: t.name(tenantIn), reason: outOfRange}
		}
		detail.Tenant = &number
	}
	if row.Turn, problem = t.small(r, turnIn); problem != nil {
		return problem
	}
	if detail.ParentTurn, problem = t.small(r, parentTurnIn); problem != nil {
		return problem
	}
	row.Class = t.out.class(string(r[classIn]))
	detail.Model = orNil(word(string(r[modelIn])))
	return nil
}

// id takes an id as it is, or a number in its place where it may be a name.
func (t *requestTable) id(r *request, p part, names *numbered) (*string, *reject) {
	if plainID.Match(r[p]) {
		return new(string(r[p])), nil
	}
	t.out.note("%s: what is no plain id was numbered", t.name(p))
	number, ok := names.of(string(r[p]))
	if !ok {
		return nil, &reject{column: t.name(p), reason: outOfRange}
	}
	return &number, nil
}

func (t *requestTable) small(r *request, p part) (*int32, *reject) {
	if r[p] == nil {
		return nil, nil
	}
	value, problem := t.tokens(r, p)
	if problem != nil || value > math.MaxInt32 {
		return nil, problem
	}
	return new(int32(value)), nil
}

// latencies reads durations, or takes them from the instants of the first token
// and of the end.
func (t *requestTable) latencies(r *request, at int64, detail *arrivalDetailRow) *reject {
	for p, target := range map[part]**float64{thinksFor: &detail.ThinkS, ttftFor: &detail.TTFTS, e2eFor: &detail.E2ES} {
		if r[p] == nil || t.units[p] < 0 {
			continue
		}
		value, reason := duration(r[p], t.units[p])
		if reason != "" {
			return &reject{column: t.name(p), reason: reason}
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

// prefix reads the blocks of the prompt.
func (t *requestTable) prefix(r *request, row *arrivalRow) *reject {
	if r[blockLength] != nil && t.blocks == 0 {
		size, problem := t.tokens(r, blockLength)
		if problem != nil {
			return problem
		}
		t.blocks = size
		t.out.about.blockTokens = int(size)
	}
	if r[blocksIn] == nil || t.blocks == 0 {
		if r[blocksIn] != nil {
			t.out.note("%s: left out, because no block_tokens says how many tokens a block has", t.name(blocksIn))
		}
		return nil
	}
	ids, reason := blockIDs(r[blocksIn])
	switch {
	case reason != "":
		return &reject{column: t.name(blocksIn), reason: reason}
	case !covers(ids, int(t.blocks), row.InputTokens):
		return &reject{column: t.name(blocksIn), reason: tooFewBlocks}
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

// end says what was found out on the way.
func (t *requestTable) end() {
	for _, p := range []part{thinksFor, ttftFor, e2eFor} {
		if t.names[p] != "" && t.units[p] < 0 {
			ours := map[part]string{thinksFor: "think", ttftFor: "ttft", e2eFor: "e2e"}[p]
			t.out.note("%s: passed over, because no unit is said; --column %s_ms=%s takes it as milliseconds", t.names[p], ours, t.names[p])
		}
	}
	if t.others > 0 {
		t.out.note("%d lines are no requests to a model, or failed before one; passed over", t.others)
	}
	if t.answered > 0 {
		t.out.note("%d requests were answered from the gateway's own cache: no server saw them; kept", t.answered)
	}
	if t.endsEarly > 0 {
		t.out.note("%d times of a first token or an end are before the request began; left out", t.endsEarly)
	}
	if t.untimed > 0 {
		t.out.note("%d failed requests say no output tokens; taken as 0", t.untimed)
	}
}

// numbered gives each name a number, in the order of their first use, so that
// equal ones stay equal and none is kept.
type numbered struct {
	prefix string
	known  map[string]string
	bytes  int
}

const numberedBytes = 32 << 20

func (n *numbered) of(name string) (string, bool) {
	if number, ok := n.known[name]; ok {
		return number, true
	}
	if n.bytes += len(name) + 64; n.bytes > numberedBytes {
		return "", false
	}
	if n.known == nil {
		n.known = map[string]string{}
	}
	number := fmt.Sprintf("%s%d", n.prefix, len(n.known)+1)
	n.known[strings.Clone(name)] = number
	return number, true
}

// textual tells of a column that holds text, once.
func (t *requestTable) textual(name string) error {
	if t.texts[name] {
		return nil
	}
	if len(t.texts) >= 100 {
		return nil
	}
	if t.texts == nil {
		t.texts = map[string]bool{}
	}
	t.texts[name] = true
	if !nameLike.MatchString(name) {
		name = "a column"
	}
	return t.out.text(name)
}
