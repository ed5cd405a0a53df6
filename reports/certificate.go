package reports

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/show"
)

// certified is a run's certificate as the page shows it: five lines, and the rest folded.
type certified struct {
	Finding     string
	First, Rest []map[string]any
	RestInWords string
}

// mostLines is how many lines of a certificate are not folded; what broke never is.
const mostLines = 5

// mostTelling are the lines that carry the most where nothing broke.
var mostTelling = []string{"lateness", "rate", "answer tokens", "floor", "failures"}

func (p *page) certified(s section) (certified, error) {
	r, err := p.certificate(s.Run.ID)
	if err != nil {
		return certified{}, err
	}
	lines := r.Cells()
	tell := map[string]int{}
	for _, line := range lines {
		tell[fmt.Sprint(line["outcome"])]++
	}
	slices.SortStableFunc(lines, func(a, b map[string]any) int { return lineRank(a) - lineRank(b) })
	first := min(len(lines), max(mostLines, tell["breaks"]))
	c := certified{First: lines[:first], Rest: lines[first:]}
	c.Finding = fmt.Sprintf("%d of %d lines hold, none breaks", tell["ok"], len(lines))
	if n := tell["breaks"]; n > 0 {
		c.Finding = fmt.Sprintf("%d of %d lines %s: %s", n, len(lines), show.Verb(n, "breaks", "break"), strings.Join(subjects(lines[:n]), ", "))
	}
	toKnow := 0
	for _, line := range c.Rest {
		if line["outcome"] == "note" {
			toKnow++
		}
	}
	c.RestInWords = fmt.Sprintf("%d more lines, all hold", len(c.Rest))
	if toKnow > 0 {
		c.RestInWords = fmt.Sprintf("%d more lines: %d hold, %d are to know", len(c.Rest), len(c.Rest)-toKnow, toKnow)
	}
	return c, nil
}

func subjects(lines []map[string]any) []string {
	var out []string
	for _, line := range lines {
		out = append(out, fmt.Sprint(line["subject"]))
	}
	return out
}

// lineRank puts what broke first, then at most what was found and is worth knowing, then the telling lines, then what is not known.
func lineRank(line map[string]any) int {
	isUnknown := strings.HasPrefix(fmt.Sprint(line["measured"]), "not known")
	telling := slices.Index(mostTelling, fmt.Sprint(line["subject"]))
	switch {
	case line["outcome"] == "breaks" && line["subject"] != "verdict":
		return 0
	case line["outcome"] == "breaks":
		return 1
	case line["outcome"] == "note" && !isUnknown:
		return 2
	case telling >= 0:
		return 3 + telling
	case line["outcome"] == "note":
		return 20
	}
	return 21
}
