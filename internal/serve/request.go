package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/serve/worker"
)

const (
	mostBody       = 1 << 20 // bytes of a request
	mostParameters = 1000
	mostAsked      = 100_000 // rows for max_rows, which are held until it is known whether there are more
	longestBody    = 15 * time.Second
)

// mediaTypes are the forms of an answer, the default first.
var mediaTypes = []struct {
	name    string
	content string
	form    worker.Form
}{
	{"application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream", worker.Arrow},
	{"text/csv", "text/csv; charset=utf-8; header=present", worker.CSV},
	{"application/json", "application/json", worker.JSON},
	{"application/vnd.apache.parquet", "application/vnd.apache.parquet", worker.Parquet},
}

// askedForm is the form that the address says, ?format=csv, else the one that Accept likes best. Any other parameter of the address is
// refused: who writes one believes that it does something.
func askedForm(r *http.Request) (form worker.Form, content string, err error) {
	var names []string
	for _, kind := range mediaTypes {
		names = append(names, string(kind.form))
	}
	const known = "the address takes format=%s alone; parameters of a query go into its body"
	for name := range r.URL.Query() {
		if name != "format" {
			return "", "", bad(fmt.Sprintf("no parameter %q of the address", name), fmt.Sprintf(known, strings.Join(names, "|")))
		}
	}
	if !r.URL.Query().Has("format") {
		return formOf(r.Header.Values("Accept"))
	}
	for _, kind := range mediaTypes {
		if r.URL.Query().Get("format") == string(kind.form) {
			return kind.form, kind.content, nil
		}
	}
	return "", "", bad(fmt.Sprintf("no format %q", r.URL.Query().Get("format")), fmt.Sprintf(known, strings.Join(names, "|")))
}

// formOf picks the form that Accept likes best; of equals the first in mediaTypes.
func formOf(accept []string) (form worker.Form, content string, err error) {
	wanted := strings.TrimSpace(strings.Join(accept, ","))
	if wanted == "" {
		return mediaTypes[0].form, mediaTypes[0].content, nil
	}
	best := 0.0
	for _, kind := range mediaTypes {
		if q := quality(wanted, kind.name); q > best {
			best, form, content = q, kind.form, kind.content
		}
	}
	if best == 0 {
		return "", "", &problem{status: http.StatusNotAcceptable, outcome: outcomeBad, text: "no answer in a form that Accept names",
			hint: "Accept: application/vnd.apache.arrow.stream, text/csv, application/json or application/vnd.apache.parquet"}
	}
	return form, content, nil
}

// quality is how much an Accept header likes a type: q of the most precise range that holds it.
func quality(accept, name string) float64 {
	group, _, _ := strings.Cut(name, "/")
	precision, q := -1, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		at := -1
		switch kind {
		case name:
			at = 2
		case group + "/*":
			at = 1
		case "*/*":
			at = 0
		}
		if at <= precision {
			continue
		}
		precision, q = at, 1
		if text, is := parameters["q"]; is {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				q = 0
			}
		}
	}
	return q
}

// readErrand reads what is asked. A body that comes too slowly is given up.
func readErrand(w http.ResponseWriter, r *http.Request) (worker.Errand, error) {
	var errand worker.Errand
	body, err := readBody(w, r)
	if err != nil {
		return errand, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/json" {
		return errandOf(body)
	}
	errand.SQL = string(body)
	return errand, checkSQL(errand.SQL)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		return nil, &problem{status: http.StatusUnsupportedMediaType, outcome: outcomeBad, text: "a compressed body is not read", hint: "send the query as it is"}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(longestBody))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	_ = control.SetReadDeadline(time.Time{}) // else the server takes a long query's client for gone
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &problem{status: http.StatusRequestEntityTooLarge, outcome: outcomeBad, text: fmt.Sprintf("the body is larger than %d bytes", mostBody),
			hint: "a query is at most 1 MiB; long lists belong into parameters of several queries"}
	case err != nil:
		return nil, &problem{status: http.StatusRequestTimeout, outcome: outcomeBad, text: "the body did not come", hint: "send it at once"}
	}
	return body, nil
}

func checkSQL(sql string) error {
	switch {
	case !utf8.ValidString(sql):
		return bad("the query is not UTF-8", "send it as UTF-8")
	case strings.ContainsRune(sql, 0):
		return bad("the query has a zero byte in it", "send it as text")
	case strings.TrimSpace(sql) == "":
		return bad("no query given", "send SQL as the body: from marts.runs")
	}
	return nil
}

// toldErrand is the JSON of a query.
type toldErrand struct {
	SQL        *string         `json:"sql"`
	Parameters json.RawMessage `json:"parameters"`
	MaxRows    *int64          `json:"max_rows"`
}

// errandOf reads {"sql": …, "parameters": …, "max_rows": …}.
func errandOf(body []byte) (worker.Errand, error) {
	const example = `send {"sql": "from marts.runs where run_id = $run", "parameters": {"run": "…"}}`
	var told toldErrand
	if err := decode(body, &told, example); err != nil {
		return worker.Errand{}, err
	}
	return told.errand(example)
}

// decode reads a body that is one JSON object with known names.
func decode(body []byte, into any, example string) error {
	if !utf8.Valid(body) {
		return bad("the body is not UTF-8", "send it as UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return bad("the body is not the JSON that is expected: "+inWords(err), example)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return bad("the body has something after its JSON", example)
	}
	return nil
}

func (told toldErrand) errand(example string) (worker.Errand, error) {
	var errand worker.Errand
	if told.SQL == nil {
		return errand, bad("the body has no \"sql\"", example)
	}
	errand.SQL = *told.SQL
	if err := checkSQL(errand.SQL); err != nil {
		return errand, err
	}
	if told.MaxRows != nil {
		if *told.MaxRows < 1 || *told.MaxRows > mostAsked {
			return errand, bad(fmt.Sprintf("max_rows is %d, not between 1 and %d", *told.MaxRows, mostAsked), "leave it out for all rows, or write a limit into the query")
		}
		errand.AskedRows = *told.MaxRows
	}
	return errand, readParameters(told.Parameters, &errand)
}

// inWords says what is wrong with a body without the types of Go.
func inWords(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return strings.TrimPrefix(err.Error(), "json: ")
	case wrong.Field == "":
		return "it is " + article(wrong.Value) + " and not an object"
	case wrong.Type.Kind() == reflect.String:
		return fmt.Sprintf("%q is %s and not a text", wrong.Field, article(wrong.Value))
	}
	return fmt.Sprintf("%q is %s and not a whole number", wrong.Field, article(wrong.Value))
}

// article puts one before a kind of value in JSON: "array", "number 1.5".
func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

func readParameters(text json.RawMessage, errand *worker.Errand) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] == '[' {
		if err := json.Unmarshal(text, &errand.Listed); err != nil {
			return bad("parameters: "+err.Error(), "")
		}
	} else if err := json.Unmarshal(text, &errand.Named); err != nil {
		return bad("parameters: not an object with names or a list", `"parameters": {"run": "…"} for $run, or ["…"] for $1 and ?`)
	}
	if count := len(errand.Listed) + len(errand.Named); count > mostParameters {
		return bad(fmt.Sprintf("%d parameters, more than %d", count, mostParameters), "a list is one parameter: where seq in (select unnest($seqs))")
	}
	return nil
}
