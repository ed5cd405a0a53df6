package capacity

import (
	"slices"
	"time"
)

// Load is about what a search sends at most: near the limit that is predicted, for all of its budget.
type Load struct {
	Minutes          float64
	Runs             int
	Requests, Tokens float64
}

// LoadAt is the load of the question's window, which has so many requests a second as recorded.
func (q Question) LoadAt(predicted Answer, ratePerS float64) Load {
	scale, tokens := q.MaxScale, 0
	if predicted.Scale != nil {
		scale = *predicted.Scale
	}
	if scale == 0 || q.Mode == "closed" {
		scale = 1
	}
	for _, r := range q.Window {
		tokens += r.InputTokens + r.OutputTokens
	}
	l := Load{Minutes: q.Budget.Minutes()}
	l.Runs = max(1, int(l.Minutes/2)+2)
	l.Requests = scale * ratePerS * 60 * l.Minutes
	l.Tokens = l.Requests * float64(tokens) / float64(len(q.Window))
	return l
}

// Shortest is the load of the shortest search: one run, which calibrates the twin.
func (q Question) Shortest() time.Duration { return min(firstLength, q.Length) }

// Lengths are a long prompt of the window, nine in ten are shorter, and its longest request, prompt and answer. In tokens.
func (q Question) Lengths() (prompt, longest int) {
	inputs := make([]int, 0, len(q.Window))
	for _, r := range q.Window {
		inputs = append(inputs, r.InputTokens)
		longest = max(longest, r.InputTokens+r.OutputTokens)
	}
	slices.Sort(inputs)
	return inputs[len(inputs)*9/10], longest
}
