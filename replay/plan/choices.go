// The user's choices and the order in which they apply. What is left out is counted by cause in the header, so that a plan
// always says what it is of its source. Sessions are kept or dropped whole: half a conversation is no conversation.

package plan

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/splitmix"
)

// Choices say which requests of a source are sent, and when. None of them changes a length, except Overlong "cap" and Lengths.
// The zero value sends everything as it came.
type Choices struct {
	SpreadTicks time.Duration // what the source's clock counts in: requests of one tick are spread over it; 0: they go as one
	Speed       float64       // 2 plays twice as fast: due and think times are divided by it; 0 is 1
	Thin        float64       // share of sessions that is kept, in (0, 1]; 0 is 1
	Thicken     float64       // sessions played for each one in the source, at least 1; 0 is 1
	// WithoutClass leaves out the requests of a class; the others stay where they are.
	WithoutClass string
	Duration     time.Duration // requests due at or after it are left out; 0: no limit
	Limit        int64         // at most so many requests; 0: no limit
	MaxModelLen  int           // prompt and output tokens the server can hold; 0: not checked
	Lengths      string        // "" as they are, or LengthsMean: every request has the average ones
	Overlong     string        // what happens to longer ones: "refuse" (the default), "drop" or "cap"
	Seed         uint64        // of what is drawn: sessions kept and cloned, offsets of clones
	// Mode is "open" (the default) or "sessions": due times are then the earliest a turn can be due, and Duration keeps
	// the sessions that begin before it, whole.
	Mode string
	// IsBounded says that the source's due times are such bounds already, as a profile's are: nothing is put in order.
	IsBounded bool
}

// Played is how much of the source's clock fits into Duration: at twice the speed, twice as much.
func (c Choices) Played() time.Duration { return time.Duration(float64(c.Duration) * orOne(c.Speed)) }

// settled fills in defaults and refuses what cannot be meant.
func (c Choices) settled() (Choices, error) {
	c.Speed, c.Thin, c.Thicken = orOne(c.Speed), orOne(c.Thin), orOne(c.Thicken)
	c.Overlong = cmp.Or(c.Overlong, "refuse")
	c.Mode = cmp.Or(c.Mode, "open")
	switch {
	case !(c.Speed > 0) || math.IsInf(c.Speed, 0):
		return c, fmt.Errorf("plan: speed %v: must be above 0", c.Speed)
	case !(c.Thin > 0 && c.Thin <= 1):
		return c, fmt.Errorf("plan: thin %v: must be above 0 and at most 1", c.Thin)
	case !(c.Thicken >= 1 && c.Thicken <= 1000):
		return c, fmt.Errorf("plan: thicken %v: must be between 1 and 1000", c.Thicken)
	case c.SpreadTicks < 0 || c.Duration < 0 || c.Limit < 0 || c.MaxModelLen < 0:
		return c, fmt.Errorf("plan: tick, duration, limit and max-model-len must not be negative")
	case c.MaxModelLen == 1:
		return c, fmt.Errorf("plan: max-model-len 1: a request has at least one prompt and one output token")
	case c.Overlong != "refuse" && c.Overlong != "drop" && c.Overlong != "cap":
		return c, fmt.Errorf("plan: overlong %q: must be refuse, drop or cap", c.Overlong)
	case c.Lengths != "" && c.Lengths != LengthsMean:
		return c, fmt.Errorf("plan: lengths %q: must be %s, or left out", c.Lengths, LengthsMean)
	case c.Mode != "open" && c.Mode != "sessions":
		return c, fmt.Errorf("plan: mode %q: must be open or sessions", c.Mode)
	}
	return c, nil
}

// orOne: 0 is the zero value of a factor and means that nothing is scaled.
func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// draft is a plan in the making: the choices, and the counts of the header as they grow.
type draft struct {
	choices Choices
	header  *Header
	folder  string // for spooled requests
	// isInMemory says that nothing is spooled to a file.
	isInMemory bool
	refused    int64           // overlong requests under "refuse"
	longest    int             // tokens of the longest of them
	cut        map[uint64]bool // sessions that lost a turn to "drop": the rest of them would be no conversation
}

// chosen is the source after every choice, in order of due time.
func (d *draft) chosen(source iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	if d.choices.SpreadTicks > 0 {
		source = d.spread(source)
	}
	kept := d.filtered(source)
	if d.choices.Mode == "sessions" && !d.choices.IsBounded {
		kept = d.byDue(bounded(kept))
	}
	if d.choices.Thicken > 1 {
		kept = d.thickened(kept)
	}
	kept = d.within(kept)
	if d.choices.Lengths == LengthsMean {
		kept = d.averaged(kept)
	}
	return kept
}

// filtered leaves out what cannot be sent or was thinned away, and sets the clock to the speed.
func (d *draft) filtered(source iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		before := time.Duration(0)
		for req, err := range source {
			if err != nil {
				yield(req, err)
				return
			}
			if req.Due < before {
				yield(req, fmt.Errorf("request %d is due %v, before %v of the one ahead of it", req.Seq, req.Due, before))
				return
			}
			before = req.Due
			d.header.SourceRequests++
			if d.passes(req) && !yield(d.atSpeed(req), nil) {
				return
			}
		}
	}
}

// passes counts each request that it leaves out by its cause.
func (d *draft) passes(req Request) bool {
	switch {
	case req.OutputTokens <= 0: // a failed request of the trace: an exact length of nothing cannot be asked for
		d.header.ZeroOutputDropped++
	case req.InputTokens <= 0: // servers refuse an empty prompt
		d.header.ZeroInputDropped++
	case req.Class != "" && req.Class == d.choices.WithoutClass:
		d.header.ClassDropped++
	case uniform(d.choices.Seed, "thin", sessionKey(req), 0) >= d.choices.Thin:
		d.header.ThinDropped++
	default:
		return true
	}
	return false
}

// atSpeed divides due and think times alike, so that a session keeps its shape.
func (d *draft) atSpeed(req Request) Request {
	if d.choices.Speed == 1 {
		return req
	}
	req.Due = divided(req.Due, d.choices.Speed)
	if req.Think != nil {
		think := divided(*req.Think, d.choices.Speed)
		req.Think = &think
	}
	return req
}

// divided rounds to the nanosecond; what two due times lose by it is less than sameInstant.
func divided(d time.Duration, speed float64) time.Duration {
	return time.Duration(math.Round(float64(d) / speed))
}

// within applies the limits of time, length and number, in this order: what would not be sent is not refused.
func (d *draft) within(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		sent := int64(0)
		for req, err := range d.inTime(requests) {
			if err != nil {
				yield(req, err)
				return
			}
			if d.isCut(req) || !d.fits(&req) {
				continue
			}
			sent++
			if !yield(req, nil) || sent == d.choices.Limit {
				return
			}
		}
	}
}

// isCut says whether an earlier turn of the request's session was dropped.
func (d *draft) isCut(req Request) bool {
	if len(d.cut) == 0 || req.Session == "" || !d.cut[sessionKey(req)] {
		return false
	}
	d.header.OverlongCut++
	return true
}

// fits says whether the request is sent; under "cap" it may shorten it.
func (d *draft) fits(req *Request) bool {
	limit, tokens := d.choices.MaxModelLen, req.InputTokens+req.OutputTokens
	if limit == 0 || tokens <= limit {
		return true
	}
	switch d.choices.Overlong {
	case "drop":
		d.header.OverlongDropped++
		if req.Session != "" {
			d.cut[sessionKey(*req)] = true
		}
		return false
	case "cap": // the prompt gives way first; an output that leaves no room for one token of prompt is cut too
		d.header.OverlongCapped++
		req.OutputTokens = min(req.OutputTokens, limit-1)
		req.InputTokens = limit - req.OutputTokens
	default:
		d.refused++
		d.longest = max(d.longest, tokens)
	}
	return true
}

// refusal is the error of a plan that holds overlong requests; nothing has been sent then.
func (d *draft) refusal() error {
	if class := d.choices.WithoutClass; class != "" && d.header.ClassDropped == 0 {
		return hint.Misuse("plan: no request is of the class %q, which was to be left out", class)
	}
	if d.refused == 0 {
		return nil
	}
	return hint.Errorf("plan: %d of %d requests are longer than the %d tokens of max-model-len (the longest has %d)",
		d.refused, d.header.Requests, d.choices.MaxModelLen, d.longest).Hint(`leave them out with "--overlong drop", shorten their prompts with "--overlong cap", or serve a longer model length`)
}

// sessionKey names the request's session; a request without one is a session of its own.
func sessionKey(req Request) uint64 {
	if req.Session == "" {
		return splitmix.Mix(uint64(req.Seq) ^ 0x5e55104e)
	}
	return splitmix.Mix(splitmix.Hash(req.Session))
}

// uniform draws a number in [0, 1) for a key; the same seed, purpose and key always draw the same.
func uniform(seed uint64, purpose string, key uint64, nth int) float64 {
	h := splitmix.Mix(splitmix.Mix(seed^splitmix.Hash(purpose)) ^ splitmix.Mix(key+uint64(nth)*splitmix.Gamma))
	return float64(h>>11) / (1 << 53)
}
