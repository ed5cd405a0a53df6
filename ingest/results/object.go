package results

import (
	"bytes"
	"errors"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// Result files of other clients are JSON as Python writes it: one object, several
// one after another, or an array of them, with Infinity and NaN as they come. A run
// saved in detail holds every gap between every two tokens, hundreds of megabytes
// of numbers, so objects are read in a stream: arrays of requests go into
// requestArrays as numbers, and only what is left becomes a tree.

// resultObjects calls use with every object of the document and with the requests
// that its arrays hold; number counts the objects from 1. An element that is not an
// object is a reject.
func resultObjects(d *read.Document, out *read.Rows, use func(number int64, o read.Object, r *requestArrays) error) error {
	stream := read.NewJSONStream(d.Reader())
	number := int64(0)
	one := func() error {
		number++
		c, err := stream.Next()
		if err == nil && c != '{' {
			if err := stream.Skip(); err != nil {
				return err
			}
			return out.Reject(number, "", read.NotJSON)
		}
		o, r := read.Object{}, &requestArrays{}
		if err == nil {
			err = readObject(stream, o, r)
		}
		if err != nil {
			return err
		}
		return use(number, o, r)
	}
	for {
		c, err := stream.Next()
		switch {
		case err != nil || c == 0:
			return err
		case c == '[':
			err = stream.Elements(one)
		default:
			err = one()
		}
		if errors.Is(err, read.ErrNotJSON) { // what follows cannot be read
			return out.Reject(max(number, 1), "", read.NotJSON)
		}
		if err != nil {
			return err
		}
	}
}

// readObject reads one result: arrays of requests into r, everything else
// into o. Its text is bounded; the arrays bound themselves.
func readObject(j *read.JSONStream, o read.Object, r *requestArrays) error {
	size := 0
	return j.Members(func(key string) error {
		if isArray, err := r.array(j, key); isArray || err != nil {
			return err
		}
		value, err := j.Value(nil, 0)
		if err != nil {
			return err
		}
		if size += len(key) + len(value); size > read.MaxTreeBytes {
			return hint.Errorf("a result with more than %d MB apart from its requests", read.MaxTreeBytes>>20).
				Hint("check where the file came from")
		}
		if o[key] = read.TreeOfPart(value); key == "config_id" {
			o[key] = read.IDOfPart(value)
		}
		return nil
	})
}

// clientDate reads a date as the clients write it: Python's in the client's local
// time, the Rust client's in UTC. Local time is read as UTC, and a note says so.
func clientDate(o read.Object, key string, out *read.Rows) *time.Time {
	text := o.Word(key)
	if text == nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, *text); err == nil {
		return &at
	}
	at, err := time.Parse("20060102-150405", *text)
	if err != nil || !read.IsOfThisAge(at) {
		out.Implausible(key, "no possible date", 1)
		return nil
	}
	out.About.Zone = "dates are the client's local time, zone not given, read as UTC"
	return &at
}

// resultKeys are the keys of a head's first object, or of the first object of its
// array. encoding/json stops at Infinity and NaN, so a head that has them is walked
// by our own reader.
func resultKeys(h *read.Head) []string {
	if !bytes.HasPrefix(h.Line, []byte("{")) && !bytes.HasPrefix(h.Line, []byte("[")) {
		return nil
	}
	if !bytes.Contains(h.Data, []byte("Infinity")) && !bytes.Contains(h.Data, []byte("NaN")) {
		if h.Keys != nil {
			return h.Keys
		}
		return h.Element
	}
	stream := read.NewJSONStream(bytes.NewReader(h.Data))
	var keys []string
	if bytes.HasPrefix(h.Line, []byte("[")) {
		_ = stream.Take('[')
	}
	_ = stream.Members(func(key string) error { // as far as the head goes
		keys = append(keys, key)
		return stream.Skip()
	})
	return keys
}

// percentileKey is a percentile as a key: "99", "99.9".
var percentileKey = lazy.Regexp(`^\d{1,2}(\.\d{1,6})?$`)

// firstName is the first of ["model", ...] or [{"name": "model"}, ...].
func firstName(list []any) *string {
	if len(list) == 0 {
		return nil
	}
	if named := read.ObjectOf(list[0]); named != nil {
		return named.ModelName("name")
	}
	return read.Object{"name": list[0]}.ModelName("name")
}

// noteOdd notes keys that hold something, but not a number that can be.
func noteOdd(o read.Object, out *read.Rows, keys ...string) {
	for _, key := range keys {
		switch number := o.Number(key); {
		case o[key] == nil || o[key] == "":
		case !number.Known:
			out.Implausible(key, "no finite number", 1)
		case number.Value > 0 && key != "duration" && number.Count() == nil:
			out.Implausible(key, "no count", 1)
		case number.Value < 0:
			out.Implausible(key, "negative", 1)
			o[key] = nil
		}
	}
}
