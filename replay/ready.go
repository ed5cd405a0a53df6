package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// readiness is in what state the servers were when the run began, and what was done for it.
type readiness struct {
	IsDrained     *bool       `json:"is_drained"` // null: they do not say
	WaitedS       float64     `json:"waited_s"`
	RunningBefore *int64      `json:"running_before"` // requests of others at the first look
	WaitingBefore *int64      `json:"waiting_before"`
	Cache         cacheRecord `json:"cache"`
	Notes         []string    `json:"notes,omitempty"` // what a reader should know of the servers
}

type cacheRecord struct {
	Asked  string `json:"asked"`
	Method string `json:"method"` // none, reset, salt_per_run or salt_per_request
	Salt   string `json:"salt,omitempty"`
	Note   string `json:"note"`
}

// prepared is all that is settled before a run has a folder.
type prepared struct {
	servers   []Server
	effective effective
	readiness readiness
	prompts   Prompts
	wording   *wordingRecord // nil: token ids are sent
}

// prepare asks the servers what they are, refuses what cannot go well, and brings them into the state that was asked
// for. Nothing of the plan has been sent when it returns.
func (s *Settings) prepare(ctx context.Context, a *asker, plan *Plan) (p prepared, err error) {
	for _, t := range a.targets {
		server, err := a.probe(ctx, t, s.Model)
		if err != nil {
			return p, err
		}
		p.servers = append(p.servers, server)
	}
	if err := s.checkLengths(p.servers, plan.Header()); err != nil {
		return p, err
	}
	if s.Endpoint == completionsPath {
		if err := s.settleVocabulary(ctx, a, p.servers); err != nil {
			return p, err
		}
	}
	first := a.expositions(ctx, s.MetricsURLs)
	all := a.effectiveOf(p.servers, first)
	p.effective, p.readiness.Notes = all[0], differences(p.servers, all)
	if err := a.drain(ctx, *s, first, &p.readiness); err != nil {
		return p, err
	}
	salt, err := a.prepareCache(ctx, s.Cache, &p.readiness.Cache)
	if err != nil {
		return p, err
	}
	if p.prompts, p.wording, err = s.prompts(ctx, a, plan); err != nil {
		return p, err
	}
	p.prompts.salt = salt
	return p, ctx.Err()
}

// checkLengths holds the plan's longest request against what each server can hold.
func (s *Settings) checkLengths(servers []Server, plan Header) error {
	for _, server := range servers {
		if limit := server.card.MaxModelLen; limit > 0 && plan.LongestTokens > limit {
			return withHint(fmt.Errorf("replay: the plan's longest request has %d tokens, %s at %s holds %d", plan.LongestTokens,
				s.Model, server.target.base, limit),
				fmt.Sprintf(`plan again with "--max-model-len %d --overlong drop" (or cap), or serve a longer model length`, limit))
		}
	}
	return nil
}

// drainEvery is how often a server that still runs others' requests is asked.
const drainEvery = 250 * time.Millisecond

// drain waits until the servers have been idle at two looks in a row; without a time-out it only takes the first look.
func (a *asker) drain(ctx context.Context, s Settings, first []exposition, r *readiness) error {
	began := time.Now()
	at, idle := loadIn(first), 0
	if !at.isKnown {
		return ctx.Err()
	}
	before := at
	r.RunningBefore, r.WaitingBefore = &before.running, &before.waiting
	for {
		if idle++; !at.isIdle() {
			idle = 0
		}
		isDrained := at.isIdle()
		r.IsDrained, r.WaitedS = &isDrained, time.Since(began).Seconds()
		switch {
		case s.DrainTimeout == 0:
			r.WaitedS = 0
			return nil
		case idle == 2:
			return nil
		case time.Since(began) >= s.DrainTimeout:
			return stillBusy(at, s.DrainTimeout)
		}
		if !timerSleep(ctx, drainEvery) {
			return ctx.Err()
		}
		if next := loadIn(a.expositions(ctx, s.MetricsURLs)); next.isKnown { // a look without an answer says nothing
			at = next
		} else {
			idle = -1
		}
	}
}

func stillBusy(at serverLoad, waited time.Duration) error {
	return withHint(fmt.Errorf("replay: after %v the server still runs %d requests and has %d waiting, none of them ours: nothing was sent",
		waited, at.running, at.waiting),
		"find out who else uses it, wait longer with --drain-timeout, or measure beside that load without it")
}

// serverLoad is what all servers run and hold waiting, by their own counts.
type serverLoad struct {
	running, waiting int64
	isKnown          bool
}

func (l serverLoad) isIdle() bool { return l.running == 0 && l.waiting == 0 }

// exposition is what one address of metrics says; nil: it gave no answer.
type exposition struct {
	address string
	text    []byte
}

// expositions asks all addresses at once: one that hangs costs its time-out, and no more.
func (a *asker) expositions(ctx context.Context, addresses []string) []exposition {
	all := make([]exposition, 0, len(addresses))
	var asking sync.WaitGroup
	for _, address := range addresses {
		if address == noMetrics {
			continue
		}
		all = append(all, exposition{address: address})
		one := &all[len(all)-1]
		asking.Go(func() {
			if status, text, err := a.get(ctx, address); err == nil && status == http.StatusOK {
				one.text = text
			}
		})
	}
	asking.Wait()
	return all
}

// loadIn adds up. An exporter of other things counts for nothing; a server that does not answer leaves all unknown.
func loadIn(all []exposition) (sum serverLoad) {
	for _, one := range all {
		if one.text == nil {
			return serverLoad{}
		}
		running, isKnown := gauge(one.text, "vllm:num_requests_running")
		waiting, _ := gauge(one.text, "vllm:num_requests_waiting")
		sum.running, sum.waiting = sum.running+int64(running), sum.waiting+int64(waiting)
		sum.isKnown = sum.isKnown || isKnown
	}
	return sum
}

// prepareCache does what was asked for with the servers' prefix caches.
func (a *asker) prepareCache(ctx context.Context, asked string, r *cacheRecord) (salt cacheSalt, err error) {
	r.Asked, r.Method = asked, "none"
	switch asked {
	case cacheCold:
		r.Method, salt = "salt_per_request", cacheSalt{stem: newSalt(), isEach: true}
	case cacheReset:
		r.Method = "reset"
		for _, t := range a.targets {
			why, err := a.resetCache(ctx, t)
			if err != nil {
				return salt, err
			}
			if why != "" {
				r.Method, r.Note, salt = "salt_per_run", why, cacheSalt{stem: newSalt()}
				break
			}
		}
	}
	r.Salt = salt.stem
	return salt, nil
}

// resetTries is how often a reset is asked for that the server could not do: it holds blocks of a request a moment longer.
const resetTries = 5

// resetCache empties one server's prefix cache, or says why that cannot be done.
func (a *asker) resetCache(ctx context.Context, t target) (why string, err error) {
	for range resetTries {
		status, body, err := a.post(ctx, t.at("/reset_prefix_cache"), nil)
		if err != nil {
			return "", a.noAnswer(ctx, t, err)
		}
		if status != http.StatusOK {
			return fmt.Sprintf("%s answers %d to /reset_prefix_cache", t.base, status), nil
		}
		said := struct {
			Success *bool `json:"success"` // older versions say nothing
		}{}
		_ = json.Unmarshal(body, &said)
		if said.Success == nil || *said.Success {
			return "", nil
		}
		if !timerSleep(ctx, drainEvery) {
			return "", ctx.Err()
		}
	}
	return fmt.Sprintf("%s could not reset its prefix cache: something still holds blocks of it", t.base), nil
}

// newSalt is 128 bits, so that no other run ever had it.
func newSalt() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}

// prompts are those of the endpoint.
func (s *Settings) prompts(ctx context.Context, a *asker, plan *Plan) (Prompts, *wordingRecord, error) {
	if s.Endpoint == chatPath {
		return findWording(ctx, a, s.Model, s.Seed, plan)
	}
	prompts, err := NewPrompts(s.VocabLow, s.VocabHigh, s.Seed)
	return prompts, nil, err
}

// settleVocabulary fixes the range of token ids: what was asked for, else the default cut to what the servers' model has.
func (s *Settings) settleVocabulary(ctx context.Context, a *asker, servers []Server) error {
	high := s.VocabHigh
	setDefault(&high, DefaultVocabHigh)
	known, where := 0, servers[0].target
	for _, server := range servers {
		if size := server.vocabSize; size > 0 && (known == 0 || size < known) {
			known, where = size, server.target
		}
	}
	if known == 0 {
		var err error
		if known, err = a.vocabularyEnd(ctx, servers[0].target, s.Model, high); err != nil {
			return err
		}
	}
	switch {
	case known == 0 || known >= high:
		s.VocabHigh = high
	case s.VocabHigh == 0:
		s.VocabHigh = known
	default:
		return withHint(fmt.Errorf("replay: token ids up to %d, but the vocabulary of %s at %s ends at %d", s.VocabHigh, s.Model, where.base, known),
			fmt.Sprintf("give the model's own size with --vocab-size %d, or leave it out", known))
	}
	if s.VocabLow == 0 {
		s.VocabLow = min(DefaultVocabLow, s.VocabHigh/4) // a small vocabulary has its special ids lower
	}
	if s.VocabLow >= s.VocabHigh {
		return withHint(errors.New("replay: no token id is left to send"), "give the model's vocabulary with --vocab-size")
	}
	return nil
}

// differences says in what the servers are not alike: their requests are then not of one kind.
func differences(servers []Server, all []effective) (notes []string) {
	first := fieldsOf(all[0])
	for i, other := range all[1:] {
		fields := fieldsOf(other)
		for _, name := range slices.Sorted(keysOf(first, fields)) {
			if first[name] != fields[name] {
				notes = append(notes, fmt.Sprintf("%s differs: %s at %s, %s at %s", name, orNothing(first[name]), servers[0].target.base,
					orNothing(fields[name]), servers[i+1].target.base))
			}
		}
	}
	return notes
}
