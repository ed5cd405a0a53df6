package profile

import (
	"cmp"
	"math"
	"slices"

	"tidemark/replay/plan"
)

// Figure is one quantity of a class, as the profile asks for it and as a plan
// has it. Asked is NaN where the profile does not say.
type Figure struct {
	Class, Quantity string
	Asked, Drawn    float64
}

// Off is how far drawn is from asked, relative to asked.
func (f Figure) Off() float64 { return f.Drawn/f.Asked - 1 }

// ranks are the quantiles that figures are given at.
var ranks = [...]struct {
	name string
	rank float64
}{{"p5", 0.05}, {"p50", 0.5}, {"p95", 0.95}}

// Measure draws the profile and compares the draw with what the profile asks
// for: for each class its share of sessions and tokens, turns, lengths, think
// times and the share of its prompts that an earlier prompt already had; then
// the reuse of the whole.
func (p *Profile) Measure(o Options) ([]Figure, error) {
	m, err := p.generator(o)
	if err != nil {
		return nil, err
	}
	drawn, err := p.drawn(o)
	if err != nil {
		return nil, err
	}
	var figures []Figure
	add := func(class, quantity string, asked, drawn float64) {
		figures = append(figures, Figure{class, quantity, asked, drawn})
	}
	all, expected := drawn.total(), m.expected()
	whole := expected.total()
	for i, k := range m.samplers {
		d, e := drawn[k.name], expected[i]
		add(k.name, "session_ratio", e.share, float64(d.sessions)/float64(all.sessions))
		add(k.name, "token_ratio", e.tokens()/whole.tokens(), d.tokens()/all.tokens())
		add(k.name, "mean_turns", e.turns, float64(d.requests)/float64(d.sessions))
		quantiles := func(name string, asked, drawn weighted) {
			if len(drawn.values) == 0 {
				return
			}
			a, d := asked.at(), drawn.at()
			for q, r := range ranks {
				add(k.name, r.name+"_"+name, a[q], d[q])
			}
		}
		quantiles("fresh_input_tokens", k.asked(ofInput), d.fresh)
		if k.growing {
			quantiles("input_tokens", weighted{}, d.input)
		}
		quantiles("output_tokens", k.asked(ofOutput), d.output)
		quantiles("think_s", k.asked(ofThink), d.think)
		add(k.name, "reuse_ratio", e.reused/e.input, d.shared/d.sumInput)
	}
	add("all", "reuse_ratio", whole.reused/whole.input, all.shared/all.sumInput)
	return figures, nil
}

// weighted are values with weights.
type weighted struct{ values, weights []float64 }

func (w *weighted) add(value float64) { w.weigh(value, 1) }

func (w *weighted) weigh(value, weight float64) {
	w.values, w.weights = append(w.values, value), append(w.weights, weight)
}

// at are the quantiles; NaN without values.
func (w *weighted) at() (values [len(ranks)]float64) {
	order := make([]int, len(w.values))
	sum := 0.0
	for i := range order {
		order[i] = i
		sum += w.weights[i]
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.values[a], w.values[b]) })
	for q := range values {
		values[q] = math.NaN()
	}
	reached, q := 0.0, 0
	for _, i := range order {
		for reached += w.weights[i]; q < len(ranks) && reached >= ranks[q].rank*sum; q++ {
			values[q] = w.values[i]
		}
	}
	return values
}

// drawnClass is what was drawn of a class.
type drawnClass struct {
	sessions, requests          int64
	fresh, input, output, think weighted
	sumInput, sumOutput, shared float64
}

func (t *drawnClass) tokens() float64 { return t.sumInput + t.sumOutput }

type drawnByClass map[string]*drawnClass

func (d drawnByClass) total() *drawnClass {
	var all drawnClass
	for _, t := range d {
		all.sessions += t.sessions
		all.sumInput += t.sumInput
		all.sumOutput += t.sumOutput
		all.shared += t.shared
	}
	return &all
}

// drawn plays a whole plan and counts per class. It also follows each shared
// prefix, because the first prompt that uses a part of one does not reuse it.
func (p *Profile) drawn(o Options) (drawnByClass, error) {
	if _, err := p.Requests(o); err != nil {
		return nil, err
	}
	m, err := p.generator(o)
	if err != nil {
		return nil, err
	}
	byClass := drawnByClass{}
	for _, c := range p.Classes {
		byClass[c.Name] = &drawnClass{}
	}
	longest := map[uint64]int{} // shared prefix -> its longest part in a prompt so far
	err = m.play(p.ending(o), func(s *session, now turn, req plan.Request) bool {
		byClass[s.class].add(now, req)
		shared := min(s.shared, max(0, now.input-1)/m.blockTokens*m.blockTokens)
		if s.growing && req.Turn > 0 {
			byClass[s.class].shared += float64(s.turns[req.Turn-1].input)
		} else {
			byClass[s.class].shared += float64(min(shared, longest[s.prefix]))
		}
		longest[s.prefix] = max(longest[s.prefix], shared)
		return true
	})
	return byClass, err
}

func (t *drawnClass) add(now turn, req plan.Request) {
	if req.Turn == 0 {
		t.sessions++
	}
	t.requests++
	t.sumInput += float64(now.input)
	t.sumOutput += float64(now.output)
	t.fresh.add(float64(now.fresh))
	t.input.add(float64(now.input))
	t.output.add(float64(now.output))
	if req.Turn > 0 {
		t.think.add(now.think.Seconds())
	}
}
