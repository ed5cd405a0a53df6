package week

import (
	"fmt"
	"math"
	"strings"

	"tidemark/internal/show"
)

// noteCounts says once what a reader must know of demand that was counted.
func (m *maker) noteCounts(d demand) {
	c := d.Counted
	if c == nil {
		return
	}
	week := m.weeks[len(m.weeks)-1].week
	var names, collected []string
	for _, p := range m.parts {
		if p.isRates && p.reaches(week) {
			names = append(names, p.name)
			if p.format == formatCollected {
				collected = append(collected, p.name)
			}
		}
	}
	note := func(isSo bool, format string, args ...any) {
		if isSo {
			m.report.Notes = append(m.report.Notes, fmt.Sprintf(format, args...))
		}
	}
	refused := int64(math.Round(c.Refused))
	note(len(collected) > 0 && refused == 0, "Requests of %s are counted when they end; those that the engine refused are not among them.", listed(collected))
	note(len(collected) > 0 && refused > 0, "Requests of %s are counted when they end, or when the engine refuses them: it refused %s, whose tokens are not known.", listed(collected), show.Count(refused))
	note(c.IsCoarse, "Some windows of %s are longer than five minutes: each has its mean rate throughout, so that a shorter peak within it is not seen.", listed(names))
	across, inPart := int64(math.Round(c.AcrossGaps)), int64(math.Round(c.InPart))
	note(across > 0, "%s counted across gaps; they belong to no hour.", show.Things(across, "request was", "requests were"))
	note(inPart > 0, "%s counted in hours that are covered by less than half; they belong to no hour.", show.Things(inPart, "request was", "requests were"))
	note(c.Unknown > 0, "Tokens of %s are not known in %s: their sums leave these out.", listed(names), show.Things(c.Unknown, "hour", "hours"))
	note(c.IsGuessed, "Tokens of %s are estimated from the middles of their histograms' buckets.", listed(names))
	if b := c.Middle; b != nil {
		note(true, "Lengths of %s come from histograms: quantiles are interpolated inside a bucket. The bucket of the median prompt reaches from %s to %s tokens, that of the median answer from %s to %s.",
			listed(names), show.Count(b[0].Above), show.Count(b[0].UpTo), show.Count(b[1].Above), show.Count(b[1].UpTo))
	}
	note(c.IsOpen, "The highest bucket has no upper bound: lengths in it count as up to twice its lower one.")
	note(c.IsApart, "Prompts and answers of %s are counted apart, and nobody knows which go together: there is no map of both, and a rehearsal draws them independently.", listed(names))
}

// listed names some sources.
func listed(names []string) string { return strings.Join(names, ", ") }
