// Everything that is settled before a run has a folder: probes, lengths, vocabulary, settings, drain, cache, prompts, in
// this order. What cannot go well is refused here with nothing sent. What a reader of the result must know is noted in
// readiness and kept.

package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/plan"
)

// readiness is the state of the servers when the run began, and what was done to bring them there. It is kept in run.json, since
// a reader who compares two runs must know whether one found a warm cache or a busy server.
type readiness struct {
	IsDrained     *bool       `json:"is_drained"` // null: they do not say
	WaitedS       float64     `json:"waited_s"`
	RunningBefore *int64      `json:"running_before"` // requests of others at the first look
	WaitingBefore *int64      `json:"waiting_before"`
	Cache         cacheRecord `json:"cache"`
	Notes         []string    `json:"notes,omitempty"` // what a reader should know of the servers
	// Differences are the settings of the servers that are not those of the environment.
	Differences []difference `json:"differences,omitempty"`
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
	effective engines.Configuration
	readiness readiness
	prompts   plan.Prompts
	wording   *plan.ChatRecord // nil: token ids are sent
}

// prepare asks the servers what they are, refuses what cannot go well, and brings them into the state that was asked
// for. Nothing of the plan has been sent when it returns.
func (s *Settings) prepare(ctx context.Context, a *controlClient, plan *plan.Plan) (p prepared, err error) {
	if p.servers, err = a.probeAll(ctx, s.modelsAt, s.Engine); err != nil {
		return p, err
	}
	if err := s.checkLengths(p.servers, plan.Header()); err != nil {
		return p, err
	}
	if s.Endpoint == completionsPath {
		if err := s.settleVocabulary(ctx, a, p.servers); err != nil {
			return p, err
		}
	}
	s.chooseCount(p.servers)
	first := a.expositions(ctx, s.MetricsURLs)
	all := a.configurations(p.servers, first)
	p.effective, p.readiness.Notes = all[0], s.differences(p.servers, all)
	if p.effective.Unmodelled != "" {
		s.PredictTPOT = nil
	}
	for i := range p.servers {
		p.servers[i].record.Unmodelled = all[i].Unmodelled
	}
	p.readiness.Differences = s.compareAll(p.servers, all)
	for _, d := range p.readiness.Differences {
		s.Tell(d.String())
	}
	for _, note := range p.readiness.Notes {
		s.Tell(note)
	}
	if err := a.drain(ctx, *s, first, &p.readiness); err != nil {
		return p, err
	}
	if r := p.readiness; r.IsDrained != nil && !*r.IsDrained {
		s.Tell(shared(*r.RunningBefore, *r.WaitingBefore))
	}
	salt, err := a.prepareCache(ctx, s.Cache, p.servers, &p.readiness.Cache)
	if err != nil {
		return p, err
	}
	if p.prompts, p.wording, err = s.prompts(ctx, a, p.servers[0], plan); err != nil {
		return p, err
	}
	p.prompts.Salt = salt
	return p, ctx.Err()
}

// ErrTooLong marks the error of a request that is longer than a server's model, ErrNoAnswer that of a server that is not there.
var (
	ErrTooLong  = errors.New("a request is too long")
	ErrNoAnswer = errors.New("no answer")
)

// CheckLength asks the servers how long their models are, and refuses a request of so many tokens that one of them does not hold it. It
// sends no load.
func CheckLength(ctx context.Context, s Settings, longest int) error {
	targets, err := s.targets()
	if err != nil {
		return err
	}
	a := newControlClient(s, targets)
	defer a.close()
	var away error // of a server that is not there: another one may refuse all the same
	for _, t := range targets {
		server, err := a.probe(ctx, t, s.Engine, s.modelsAt(t)...)
		if err == nil {
			err = s.checkLengths([]Server{server}, plan.Header{LongestTokens: longest})
		}
		switch {
		case errors.Is(err, ErrNoAnswer):
			away = err
		case err != nil:
			return err
		}
	}
	return away
}

// checkLengths compares the plan's longest request with what each server can hold.
func (s *Settings) checkLengths(servers []Server, plan plan.Header) error {
	for _, server := range servers {
		if limit := server.card.MaxModelLen; limit > 0 && plan.LongestTokens > limit {
			return hint.Errorf("replay: the plan's longest request has %d tokens, %s at %s holds %d", plan.LongestTokens,
				s.Model, server.target.shown(), limit).Mark(ErrTooLong).Hint(`plan again with "--max-model-len %d --overlong drop" (or cap), or serve a longer model length`, limit)
		}
	}
	return nil
}

// chooseCount has tokens counted by a running usage where a server has that alone.
func (s *Settings) chooseCount(servers []Server) {
	for _, server := range servers {
		if fields := server.engine.Fields; !fields.TokenIDs && fields.RunningUsage && s.History != historyAnswered {
			s.CountByUsage = true
		}
	}
}

// configurations are what the servers run with, in their order. A server's own /metrics says what its settings have not;
// where there is one server, so do whatever addresses were given for it.
func (a *controlClient) configurations(servers []Server, metrics []exposition) []engines.Configuration {
	all := make([]engines.Configuration, len(servers))
	for i, server := range servers {
		var texts [][]byte
		for _, one := range metrics {
			if one.address == server.target.at("/metrics") || len(servers) == 1 {
				texts = append(texts, []byte(a.scrub.Exposition(string(one.text))))
			}
		}
		c := &all[i]
		*c = server.engine.Configuration(server.ServerInfo, texts...)
		engines.SetDefault(&c.EngineVersion, server.Version)
		engines.SetDefault(&c.Model, cmp.Or(a.scrub.Text(server.card.Root), a.scrub.Text(server.card.ID)))
		engines.SetDefault(&c.MaxModelLen, int64(server.card.MaxModelLen))
		engines.SetDefault(&c.KVCacheTokens, c.BlockSize*c.NumGPUBlocks)
	}
	return all
}

// prompts are those of the endpoint.
func (s *Settings) prompts(ctx context.Context, a *controlClient, first Server, planned *plan.Plan) (plan.Prompts, *plan.ChatRecord, error) {
	if s.Endpoint == chatPath {
		return plan.NewChatPrompts(ctx, a.tokenizer(first, first.card.ID), s.Seed, planned)
	}
	prompts, err := plan.NewPrompts(s.VocabLow, s.VocabHigh, s.Seed)
	return prompts, nil, err
}

// differences says in what the servers of the run's own model are not alike: their requests are then not of one kind.
func (s *Settings) differences(servers []Server, all []engines.Configuration) (notes []string) {
	for i, server := range servers {
		if server.alternates != "" {
			notes = append(notes, server.alternates)
		}
		if all[i].Unmodelled != "" {
			beside := "this run"
			if model := s.otherAt(server.target); model != "" {
				beside = "the requests to " + model
			}
			notes = append(notes, fmt.Sprintf("%s runs with what is not modelled, %s: no prediction stands beside %s", server.target.shown(), all[i].Unmodelled, beside))
		}
	}
	first := all[0].Fields()
	for i, other := range all[1:] {
		if s.otherAt(servers[i+1].target) != "" {
			continue
		}
		fields := other.Fields()
		for _, name := range slices.Sorted(namesIn(first, fields)) {
			if first[name] != fields[name] {
				notes = append(notes, fmt.Sprintf("%s differs: %s at %s, %s at %s", name, orNotSaid(first[name]), servers[0].target.shown(),
					orNotSaid(fields[name]), servers[i+1].target.shown()))
			}
		}
	}
	return notes
}

func namesIn(a, b map[string]string) iter.Seq[string] {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return maps.Keys(both)
}

func orNotSaid(s string) string { return cmp.Or(s, "not said") }
