// A control: the same arrivals, each with the average lengths of the plan. What it promises beside the real lengths is what a test
// with traffic of average size would have promised. Prefix blocks stay as far as they fit into the average prompt.

package plan

import (
	"iter"
	"math"
)

// LengthsMean is the choice of Choices.Lengths that gives every request the average lengths.
const LengthsMean = "mean"

// averaged gives every request the mean prompt and output of all of them, rounded to whole tokens. The means are known when the last
// request has passed, so the requests wait in a spool file.
func (d *draft) averaged(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		spool, err := newLineFile(d.folder)
		if err != nil {
			yield(Request{}, err)
			return
		}
		defer spool.remove()
		var n, input, output float64
		for req, err := range requests {
			if err == nil {
				err = spool.add(req)
			}
			if err != nil {
				yield(req, err)
				return
			}
			n, input, output = n+1, input+float64(req.InputTokens), output+float64(req.OutputTokens)
		}
		if err := spool.close(); err != nil {
			yield(Request{}, err)
			return
		}
		mean := func(sum float64) int { return max(1, int(math.Round(sum/n))) }
		for req, err := range spool.requests() {
			req.InputTokens, req.OutputTokens = mean(input), mean(output)
			if !yield(req, err) {
				return
			}
		}
	}
}
