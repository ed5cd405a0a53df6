package week

// table is one that a template shows. Its first column heads the rows.
type table struct {
	Class   string // fit: natural width; stack: cards on phones; short ones are kept on one sheet of paper
	Title   string // the finding, bold; empty: the caption alone
	Caption string
	Heads   []head
	Rows    []row
}

// IsShort says that the table stays on one sheet of paper.
func (t table) IsShort() bool { return len(t.Rows) <= 12 }

type head struct {
	Text, Unit string
	IsNumber   bool // right-aligned
}

type row struct {
	Class string // now: today's; broken; lost: dominated
	Cells []cell
}

type cell struct {
	Text  string
	Small string // soft, after the text
	Tag   tag
	Mark  mark // before the text
	Code  bool
	Bold  bool
}

// tag says where a figure comes from: solid measured, dashed predicted.
type tag struct{ Text, Class string }

// mark is a cross or a tick with a word.
type mark struct {
	Text string
	IsOK bool
}

var (
	crossed = func(word string) mark { return mark{"✕ " + word, false} }
	ticked  = func(word string) mark { return mark{"✓ " + word, true} }
)

// originTag is the tag of a measured, simulated, rehearsed or predicted figure.
func originTag(origin string) tag {
	switch origin {
	case "", "today":
		return tag{}
	case "measured":
		return tag{origin, "meas"}
	}
	return tag{origin, "pred"}
}

// words are heads of text, numbers of right-aligned figures; each is a head, or a head and its unit after a line break.
func words(text string) head         { return head{Text: text} }
func numbers(text, unit string) head { return head{text, unit, true} }

// cells are a row of plain texts.
func cells(texts ...string) row {
	r := row{Cells: make([]cell, len(texts))}
	for i, text := range texts {
		r.Cells[i].Text = text
	}
	return r
}

// fact is a line of a list of facts.
type fact struct{ Term, Text string }

// keepFacts leaves out those without a text.
func keepFacts(all ...fact) []fact {
	var out []fact
	for _, f := range all {
		if f.Text != "" && f.Text != unknown {
			out = append(out, f)
		}
	}
	return out
}
