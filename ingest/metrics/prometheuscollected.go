package metrics

import (
	"bytes"
	"encoding/json"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// PrometheusCollected reads the growing file of `tidemark collect`: a header, then answers of Prometheus' HTTP API, a line each,
// with what was asked. A later state of the file replaces the earlier one.
var PrometheusCollected = read.Format{
	Name:  "prometheus-collected",
	Sees:  seesCollected,
	Read:  readCollected,
	Grows: collectionOf,
	Wants: "a first line with schema, collect_id, service",
}

const collectSchema = "tidemark.collect/1"

// CollectedName is a series of one sample that says which file it is: its label is the file's collect_id, its value the latest instant of
// the file, Unix seconds. An earlier state of the file in the warehouse is found by it.
const CollectedName = "tidemark_collected"

func seesCollected(h *read.Head) string {
	return read.If(h.Has("schema", "collect_id") && bytes.Contains(h.Line, []byte(`"tidemark.collect/`)), "what tidemark collect asked a Prometheus for, with collect_id")
}

type collectedHeader struct {
	Schema    string    `json:"schema"`
	ID        string    `json:"collect_id"`
	StartedAt time.Time `json:"started_at"`
}

func readCollectedHeader(line []byte) (h collectedHeader, err error) {
	switch err := json.Unmarshal(line, &h); {
	case h.Schema != "" && h.Schema != collectSchema:
		return h, hint.Errorf("line 1: its schema is not %s", collectSchema).Hint("it was written by another version of tidemark")
	case err != nil || h.ID == "" || h.StartedAt.IsZero():
		return h, hint.Errorf("line 1: collect_id or started_at are missing").Hint("the file is damaged: tidemark collect --fresh begins it again")
	}
	return h, nil
}

// collectionOf names the file by its head; empty where its header is damaged.
func collectionOf(head []byte) string {
	h, err := readCollectedHeader(read.FirstLine(head))
	if err != nil {
		return ""
	}
	return collectedLabels(h.ID)
}

func collectedLabels(id string) string {
	text, _ := read.NewLabels().Write([]read.Label{{Key: "collect_id", Value: id}})
	return text
}

// readCollected reads the answers as those of any file of Prometheus, and adds which file it is.
func readCollected(d *read.Document, out *read.Rows) error {
	h, err := readCollectedHeader(read.FirstLine(d.First.Data))
	if err != nil {
		return err
	}
	p := &promAPI{JSONStream: read.NewJSONStream(d.Reader()), out: out, book: read.NewLabels(), at: &instants{out: out}}
	if err := p.answers(); err != nil {
		return err
	}
	if out.Sum.Read == 0 {
		return hint.Errorf("no answer in it holds a series").Hint("tidemark collect asks again")
	}
	if err := out.Add(Sample{AtNs: new(int64), Name: CollectedName, Labels: collectedLabels(h.ID), Value: float64(p.at.last) / 1e9}); err != nil {
		return err
	}
	return p.end()
}
