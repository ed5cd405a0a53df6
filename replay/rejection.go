// An answer that is no stream: its status and whatever words its body has, in any of the shapes that servers use. It becomes
// the kind of failure and a short text, from which secrets are taken and which is cut after that.

package replay

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"tidemark/replay/wire"
)

// errorBodyLimit is enough for any error in words; a longer body is a page of a proxy.
const errorBodyLimit = 16 << 10

// rejection is what an answer that is no stream comes to.
func (x *exchange) rejection() (kind, detail string) {
	said := wire.ErrorBody(x.text).String() // fail scrubs and cuts
	switch status := x.answer.Status; {
	case x.answer.Encoding != "":
		return "protocol", "the answer is packed, and no stream (Content-Encoding: " + x.answer.Encoding + "), though nothing asked for that"
	case status == http.StatusOK:
		if !wire.IsError(x.text) { // nothing of an answer is kept
			said = ""
		}
		return "protocol", "the answer is no event stream: " + cmp.Or(said, describeBody(x.answer, x.text))
	case status >= 300 && status < 400:
		return fmt.Sprintf("http_%d", status), "a redirect, not followed"
	default:
		return fmt.Sprintf("http_%d", status), cmp.Or(said, describeBody(x.answer, x.text))
	}
}

// describeBody says what came where the server itself says nothing.
func describeBody(h wire.Head, body []byte) string {
	words := strings.TrimSpace(fmt.Sprintf("%d %s", h.Status, http.StatusText(h.Status)))
	if len(body) == 0 {
		return words + ", no body"
	}
	if kind, _, err := mime.ParseMediaType(h.ContentType); err == nil {
		return fmt.Sprintf("%s, %d bytes of %s", words, len(body), kind)
	}
	return fmt.Sprintf("%s, %d bytes", words, len(body))
}
