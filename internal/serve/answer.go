package serve

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"tidemark/internal/escape"
	"tidemark/internal/serve/worker"
)

// The trailers of an answer: one of the two always comes.
const (
	trailerError = "Tidemark-Error" // the answer is cut, and why
	trailerRows  = "Tidemark-Rows"  // the answer is whole and has so many rows
)

// answer is what is being sent.
type answer struct {
	w         http.ResponseWriter
	form      worker.Form
	content   string
	isOpen    bool // the status is sent
	isPart    bool // what was sent last ends in the middle of a row or message
	columns   int
	bytes     int64
	published string
}

// open sends the status and what is known ahead.
func (a *answer) open(head worker.Head) {
	h := a.w.Header()
	h.Set("Content-Type", a.content)
	h.Set("Cache-Control", "no-store")
	h.Set("Tidemark-Snapshot", a.published)
	if head.Cut != "" {
		h.Set("Tidemark-Cut", head.Cut)
	}
	if a.form != worker.HTML {
		h.Set("Trailer", trailerError+", "+trailerRows)
	}
	a.w.WriteHeader(http.StatusOK)
	a.isOpen, a.columns = true, len(head.Columns)
}

// data sends bytes. The first go out at once, because a client may wait for its first row.
func (a *answer) data(payload []byte, isPart bool) error {
	isFirst := a.bytes == 0
	n, err := a.w.Write(payload)
	a.bytes += int64(n)
	a.isPart = isPart
	if err == nil && isFirst {
		err = http.NewResponseController(a.w).Flush()
	}
	return err
}

func (a *answer) end(end worker.End) {
	a.w.Header().Set(trailerRows, strconv.FormatInt(end.Rows, 10))
}

// breakOff ends an answer that is cut so that no reader takes it for whole: the reason is in the trailer, and the bytes
// end in something that the form does not allow. Where that cannot be done the connection is broken.
func (a *answer) breakOff(p *problem) {
	why := oneLine(p.text)
	a.w.Header().Set(trailerError, why)
	switch {
	case a.form == worker.HTML, a.isPart && a.form == worker.CSV:
		panic(http.ErrAbortHandler)
	case a.isPart, a.form == worker.Parquet:
		return // a message without its end, a file without its index
	}
	_, _ = a.w.Write(broken(a.form, a.columns, why))
}

// broken are bytes that no reader of the form accepts at the end of a stream.
func broken(form worker.Form, columns int, why string) []byte {
	switch form {
	case worker.CSV:
		// One cell too many, and the last quote is never closed.
		return []byte("tidemark: error: answer cut" + strings.Repeat(",", columns) + `"` + strings.ReplaceAll(why, `"`, "'") + "\n")
	case worker.JSON:
		text, _ := json.Marshal(why)
		return []byte("\n# tidemark: error: answer cut: " + string(text) + "\n")
	}
	// A message whose head says 1 GiB of metadata, of which only a few bytes follow.
	return append([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x40}, "tidemark: error: answer cut: "+why...)
}

// oneLine is a text for a header: printable ASCII without line breaks.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(escape.Controls(text, "\n\t")), " ")
	text = strconv.QuoteToASCII(text)
	return text[1 : len(text)-1]
}
