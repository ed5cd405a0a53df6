//go:build peers

package peers

import (
	"fmt"
	"slices"
	"strings"
)

// line is a row of the table: from which load's outcome, and how.
type line struct {
	title string
	load  string
	of    func(outcome) cell
}

var lines = []line{
	{"CPU a token at 64 streams, us", "streams-64", outcome.cpuPerToken},
	{"tokens/s taken in on one core at 512 streams (51,200 offered), CPU", "streams-512", outcome.takenIn},
	{"TTFT p50 / p99 said at 512 streams, ms", "streams-512", outcome.ttft},
	{"TTFT by the server's record, ms", "streams-512", func(o outcome) cell {
		return cell{text: fmt.Sprintf("%s / %s", milli(quantile(o.trueTTFT(), 0.5)), milli(quantile(o.trueTTFT(), 0.99)))}
	}},
	{"TPOT p50 / p99 error at 512 streams", "streams-512", outcome.tpot},
	{"lateness at 500 requests/s, p50 / p99 ms", "rate-500", outcome.late},
	{"lateness at 2,000 requests/s, p50 / p99 ms", "rate-2000", outcome.late},
	{"1,000 rows of Mooncake conversation at 10x, p99 ms late", "mooncake", outcome.lateP99},
	{"a trace of 2,000 rows: command to first request, s", "first-request", outcome.firstRequest},
	{"memory of the process tree at 512 streams, MB", "streams-512", outcome.memory},
	{"notices that it was the bottleneck", "crowded", outcome.notices},
}

// column is one client with what came of each load.
type column struct {
	name     string
	missing  string // why there is nothing of it
	outcomes map[string]outcome
}

// markdown is the table with its footnotes and command lines.
func markdown(columns []column) string {
	var out strings.Builder
	var notes []string
	out.WriteString("| what |")
	for _, c := range columns {
		out.WriteString(" " + c.name + " |")
	}
	out.WriteString("\n|" + strings.Repeat("---|", len(columns)+1) + "\n")
	for _, l := range lines {
		out.WriteString("| " + l.title + " |")
		for _, c := range columns {
			cell := c.cell(l)
			out.WriteString(" " + cell.text)
			for _, note := range cell.notes {
				out.WriteString(fmt.Sprintf(" [%d]", number(&notes, note)))
			}
			out.WriteString(" |")
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	for i, note := range notes {
		fmt.Fprintf(&out, "[%d] %s\n\n", i+1, note)
	}
	out.WriteString("Command lines, one run after the other, each on core " + clientCore + " (`taskset -c " + clientCore + "`):\n\n")
	for _, c := range columns {
		for _, l := range c.loads() {
			fmt.Fprintf(&out, "- %s, %s: `%s`\n", c.name, l, strings.Join(c.outcomes[l].run.argv, " "))
		}
	}
	return out.String()
}

// number is a note's, the same for the same words.
func number(notes *[]string, note string) int {
	if i := slices.Index(*notes, note); i >= 0 {
		return i + 1
	}
	*notes = append(*notes, note)
	return len(*notes)
}

func (c column) cell(l line) cell {
	if c.missing != "" {
		return cell{text: "not installed", notes: []string{c.missing}}
	}
	o, ok := c.outcomes[l.load]
	switch {
	case !ok:
		return cell{text: "not measured"}
	case o.why != "":
		return cell{text: "cannot", notes: []string{o.why}}
	}
	return l.of(o)
}

func (c column) loads() (names []string) {
	for name, o := range c.outcomes {
		if len(o.run.argv) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
