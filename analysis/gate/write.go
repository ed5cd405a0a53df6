package gate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// The elements of JUnit XML that GitLab, Jenkins and GitHub's readers have in common. A time is there because some of them want a number.
type (
	junitReport struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suite junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     int    `xml:"time,attr"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    int        `xml:"time,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
		Out     *junitText `xml:"system-out"`
	}
	junitText struct {
		Message string `xml:"message,attr,omitempty"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"` // of which control characters are escaped: CDATA holds none
	}
)

// JUnit has a test case for each metric: worse is a failure, what it cannot tell is skipped. Runs that are invalid or failed are a case too.
func (g Gate) JUnit() ([]byte, error) {
	const name = "tidemark compare"
	suite := junitSuite{junitCounts: junitCounts{Name: name}}
	if !g.IsDecided() || g.Spoilt != "" {
		runs := junitCase{Name: "runs"}
		text := &junitText{Message: g.FirstLine(), Type: "runs", Text: "tidemark runs RUN shows the certificate of each"}
		if g.isRed {
			runs.Failure = text
		} else {
			runs.Error = text
		}
		suite.Cases = append(suite.Cases, runs)
	}
	for _, j := range g.Judged {
		one := junitCase{Name: j.words()}
		detail := g.detail(j)
		switch j.Outcome {
		case Worse:
			message := fmt.Sprintf("%s %s (%s): worse by more than %s", j.words(), analysis.Change(j.Ratio), j.interval(), g.bound())
			one.Failure = &junitText{Message: message, Type: Worse, Text: detail}
		case CannotTell:
			one.Skipped, one.Out = &junitText{Message: CannotTell + ": " + j.Why}, &junitText{Text: detail}
		default:
			one.Out = &junitText{Text: detail}
		}
		suite.Cases = append(suite.Cases, one)
	}
	for i := range suite.Cases {
		one := &suite.Cases[i]
		one.Class = name
		suite.Tests++
		if one.Failure != nil {
			suite.Failures++
		}
		if one.Error != nil {
			suite.Errors++
		}
		if one.Skipped != nil {
			suite.Skipped++
		}
	}
	text, err := xml.MarshalIndent(junitReport{junitCounts: suite.junitCounts, Suite: suite}, "", "  ")
	return append(append([]byte(xml.Header), text...), '\n'), err
}

// detail is everything that there is to know of a metric, and what to do.
func (g Gate) detail(j Judged) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "\n%-10s%s", name, fmt.Sprintf(format, args...))
	}
	line("before", "%s   (%s)", j.value(j.Before), strings.Join(g.Comparison.Before, ", "))
	line("after", "%s   (%s)", j.value(j.After), strings.Join(g.Comparison.After, ", "))
	if !math.IsNaN(j.Low) {
		line("ratio", "%.4f", j.Ratio)
		line("interval", "%.4f to %.4f; %s", j.Low, j.High, g.Basis())
	}
	line("bound", "%s", show.Figures(g.edge(j.Metric)))
	for _, setting := range g.differences() {
		line("differs", "%s", setting)
	}
	switch j.Outcome {
	case Worse:
		line("to do", "%s", g.toDo())
	case CannotTell:
		line("to do", "%s", j.Why)
	}
	return escape.Controls(b.String(), "\n") + "\n"
}

// toDo is for a metric that is worse.
func (g Gate) toDo() string {
	return fmt.Sprintf("look for the cause in what differs, and at both on one page: tidemark report %s %s --output compare.html. If the change is wanted all the same, it is the next BEFORE",
		escape.Shell(g.Comparison.Before[0]), escape.Shell(g.Comparison.After[0]))
}

// differences are the settings in which the runs differ.
func (g Gate) differences() (all []string) {
	for _, row := range g.Comparison.Settings.Records() {
		all = append(all, fmt.Sprintf("%v: %v, then %v", row["setting"], row["value"], row["other_value"]))
	}
	return all
}

// Markdown is a section of a job summary, such as GitHub's.
func (g Gate) Markdown() []byte {
	var b bytes.Buffer
	// A run's name or a server's answer may hold signs of Markdown.
	fmt.Fprintf(&b, "### Regression gate\n\n%s\n\n", escape.Markdown(g.FirstLine()))
	fmt.Fprintf(&b, "| %s |\n|---|---:|---:|---:|---|---|\n", strings.Join(Columns, " | "))
	for _, j := range g.Judged {
		for _, cell := range j.Cells() {
			text := escape.Markdown(cell)
			if cell == Worse {
				text = "**" + text + "**"
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
	}
	fmt.Fprintf(&b, "\nBefore: %s. After: %s. Bound: %s; %s.\n", escape.Markdown(strings.Join(g.Comparison.Before, ", ")), escape.Markdown(strings.Join(g.Comparison.After, ", ")),
		g.bound(), g.Basis())
	for _, remark := range g.Remarks() {
		fmt.Fprintf(&b, "\n%s\n", escape.Markdown(remark))
	}
	for i, setting := range g.differences() {
		if i == 0 {
			b.WriteString("\nWhat differs:\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", escape.Markdown(setting))
	}
	if len(g.these(Worse, func(Judged) string { return "" })) > 0 {
		fmt.Fprintf(&b, "\nWhat to do: %s.\n", escape.Markdown(g.toDo()))
	}
	b.WriteString("\n")
	return b.Bytes()
}
