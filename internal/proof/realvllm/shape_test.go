//go:build vllm

package realvllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// bodyShape is the shape of a JSON body, or of each event of a stream. Chunks
// of one shape in a row are one: how many tokens a chunk holds is chance.
func bodyShape(a answer) string {
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		return shape(a.body)
	}
	var events []string
	for line := range bytes.Lines(a.body) {
		line = bytes.TrimRight(line, "\n")
		if len(line) == 0 {
			continue
		}
		event := string(line)
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			event = "data: " + shape(data)
		}
		if len(events) == 0 || events[len(events)-1] != event {
			events = append(events, event)
		}
	}
	return strings.Join(events, "\n    ")
}

// shape writes a JSON text with types in place of values, keys in their order;
// of an array the first element. What is not JSON stands as it is.
func shape(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var out strings.Builder
	if err := writeShape(&out, decoder); err != nil {
		return string(text)
	}
	return out.String()
}

func writeShape(out *strings.Builder, decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch value := token.(type) {
	case json.Delim:
		return writeInside(out, decoder, value)
	case string:
		out.WriteString("text")
	case float64:
		out.WriteString("number")
	case bool:
		out.WriteString("bool")
	case nil:
		out.WriteString("null")
	}
	return nil
}

func writeInside(out *strings.Builder, decoder *json.Decoder, open json.Delim) error {
	out.WriteString(open.String())
	for n := 0; decoder.More(); n++ {
		into := out
		if open == '[' && n > 0 {
			into = &strings.Builder{} // read and forgotten
		} else if n > 0 {
			out.WriteString(",")
		}
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			fmt.Fprintf(into, "%v:", key)
		}
		if err := writeShape(into, decoder); err != nil {
			return err
		}
	}
	closing, err := decoder.Token()
	if err != nil {
		return err
	}
	out.WriteString(closing.(json.Delim).String())
	return nil
}
