// Response heads. A plain 200 of a stream is read without allocating; anything unusual goes to net/http, so that rare but
// legal heads mean what they mean there.

package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Head is what the head of a response says, as far as it is needed.
type Head struct {
	Status      int
	ContentType string
	Encoding    string // Content-Encoding; empty where the bytes are the text's own
	Length      int64  // of the body; negative: as long as the connection lives
	isChunked   bool
	IsLast      bool // the connection ends with this answer
}

// ParseHead reads a response head, its closing blank line included.
func ParseHead(text []byte) (Head, error) {
	if h, isSure := scanHead(text); isSure {
		return h, nil
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(text), 1<<10), nil)
	if err != nil {
		return Head{}, fmt.Errorf("not an HTTP response: %w", err)
	}
	resp.Body.Close()
	return Head{
		Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Length: resp.ContentLength,
		isChunked: len(resp.TransferEncoding) > 0, IsLast: resp.Close, Encoding: encodingOf(resp.Header.Get("Content-Encoding")),
	}, nil
}

// HeaderIn is the value of the first header of that name in a response head; empty where there is none.
func HeaderIn(head []byte, name string) string {
	for line := range bytes.Lines(head) {
		if key, value, hasColon := bytes.Cut(line, []byte(":")); hasColon && strings.EqualFold(string(key), name) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// encodingOf leaves out the encoding that is none.
func encodingOf(value string) string {
	if strings.EqualFold(value, "identity") {
		return ""
	}
	return value
}

// eventStream is the type that every server of completions sends; some add a charset.
const eventStream = "text/event-stream"

// IsStream lets pass what does not say its type; a page, a plain JSON answer or packed bytes are none.
func (h Head) IsStream() bool {
	if h.Status != http.StatusOK || h.Encoding != "" {
		return false
	}
	if h.ContentType == eventStream || h.ContentType == eventStream+"; charset=utf-8" {
		return true
	}
	kind, _, err := mime.ParseMediaType(h.ContentType)
	return err != nil || kind != "application/json" && kind != "text/html"
}

// scanHead reads the head of a plain 200, without allocating where it is a stream's: with hundreds of streams that begin
// together, it is in front of their first tokens. It gives up on all that is legal but rare; net/http then decides.
func scanHead(text []byte) (h Head, isSure bool) {
	const opening = "HTTP/1.1 200 "
	if len(text) < len(opening) || string(text[:len(opening)]) != opening {
		return h, false
	}
	h = Head{Status: http.StatusOK, Length: -1}
	var hasLength, hasType, hasConnection bool
	_, text, _ = cutLine(text)
	for {
		line, rest, isWhole := cutLine(text)
		if !isWhole {
			return h, false
		}
		if len(line) == 0 {
			h.IsLast = h.IsLast || !h.isChunked && !hasLength
			return h, len(rest) == 0 && !(h.isChunked && hasLength)
		}
		name, value, hasColon := bytes.Cut(line, []byte(":"))
		if !hasColon || !isName(name) || !isPlain(value) {
			return h, false
		}
		value = bytes.Trim(value, " \t")
		switch {
		case isWord(name, "content-type"):
			if hasType {
				return h, false
			}
			hasType, h.ContentType = true, typeOf(value)
		case isWord(name, "transfer-encoding"):
			if h.isChunked || !isWord(value, "chunked") {
				return h, false
			}
			h.isChunked = true
		case isWord(name, "content-length"):
			n, err := strconv.ParseUint(string(value), 10, 62)
			if hasLength || err != nil {
				return h, false
			}
			hasLength, h.Length = true, int64(n)
		case isWord(name, "connection"):
			if hasConnection || !isWord(value, "close") && !isWord(value, "keep-alive") {
				return h, false
			}
			hasConnection, h.IsLast = true, isWord(value, "close")
		case isWord(name, "trailer"), isWord(name, "content-encoding"):
			return h, false
		}
		text = rest
	}
}

// cutLine wants \r\n: a head with lone line feeds is legal to accept, but left to net/http.
func cutLine(text []byte) (line, rest []byte, isWhole bool) {
	end := bytes.IndexByte(text, '\n')
	if end < 1 || text[end-1] != '\r' {
		return nil, nil, false
	}
	return text[:end-1], text[end+1:], true
}

// isName allows less than RFC 9110: a name with other characters is left to net/http.
func isName(name []byte) bool {
	for _, b := range name {
		if !(b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '-') {
			return false
		}
	}
	return len(name) > 0
}

// isPlain keeps away from control characters and from bytes above ASCII, which net/http may refuse.
func isPlain(value []byte) bool {
	for _, b := range value {
		if b < 0x20 && b != '\t' || b >= 0x7f {
			return false
		}
	}
	return true
}

// isWord compares without case; word is in lower case.
func isWord(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, b := range text {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

// typeOf spares the common words an allocation.
func typeOf(value []byte) string {
	switch string(value) {
	case eventStream:
		return eventStream
	case eventStream + "; charset=utf-8":
		return eventStream + "; charset=utf-8"
	}
	return string(value)
}
