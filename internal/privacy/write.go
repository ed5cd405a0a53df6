//go:build duckdb_arrow

package privacy

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// traceColumns are the keys of an exported trace; lengthColumns and rateColumns
// are the columns of a histogram's two tables. An export has no others.
var (
	traceColumns = []string{"arrival_s", "arrival_at", "input_tokens", "output_tokens", "session_id", "turn", "parent_session_id",
		"parent_turn", "class", "think_s", "is_failed", "tenant", "blocks", "block_tokens"}
	lengthColumns = []string{"window_from_s", "window_until_s", "class", "client", "input_above", "input_up_to", "output_above", "output_up_to", "requests"}
	rateColumns   = []string{"window_from_s", "window_until_s", "class", "client", "requests"}

	// leftOut are columns that a trace may have and an export never has: names
	// that a customer may have chosen, and measured times, which identify a
	// request like a fingerprint.
	leftOut = []string{"model", "ttft_s", "e2e_s", "cached_tokens"}
)

// create writes a file that only its owner can read, compressed as its name
// says.
func create(path, name string, fill func(*bufio.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	packed, err := compressed(file, name)
	if err == nil {
		buffer := bufio.NewWriterSize(packed, 1<<18)
		if err = fill(buffer); err == nil {
			err = buffer.Flush()
		}
		err = cmp.Or(err, packed.Close())
	}
	return cmp.Or(err, file.Sync(), file.Close())
}

type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }

func compressed(w io.Writer, name string) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(name, ".zst"):
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	case strings.HasSuffix(name, ".gz"):
		return gzip.NewWriter(w), nil
	}
	return plainWriter{w}, nil
}

func writeTrace(w *bufio.Writer, t *Trace) error {
	for i := range t.Rows {
		if _, err := w.Write(t.line(nil, &t.Rows[i])); err != nil {
			return err
		}
	}
	return nil
}

// line is one request as JSON. Unknown values are left out.
func (t *Trace) line(line []byte, row *Row) []byte {
	if t.IsDated {
		line = append(line, `{"arrival_at":"`...)
		line = time.Unix(0, row.At).UTC().AppendFormat(line, "2006-01-02T15:04:05.000Z")
		line = append(line, '"')
	} else {
		line = append(line, `{"arrival_s":`...)
		line = strconv.AppendFloat(line, float64(row.At/int64(time.Millisecond))/1e3, 'f', 3, 64)
	}
	whole := func(key string, value int64) {
		line = append(append(append(line, `,"`...), key...), `":`...)
		line = strconv.AppendInt(line, value, 10)
	}
	text := func(key, value string) {
		if value != "" {
			quoted, _ := json.Marshal(value) // text always can be
			line = append(append(append(line, `,"`...), key...), `":`...)
			line = append(line, quoted...)
		}
	}
	whole("input_tokens", row.Input)
	whole("output_tokens", row.Output)
	text("session_id", t.Sessions[row.Session])
	if row.Turn >= 0 && row.Session != 0 {
		whole("turn", int64(row.Turn))
	}
	text("parent_session_id", t.Sessions[row.Parent])
	if row.ParentTurn >= 0 && row.Parent != 0 {
		whole("parent_turn", int64(row.ParentTurn))
	}
	text("class", t.Classes[row.Class])
	if !math.IsNaN(row.ThinkS) {
		line = append(line, `,"think_s":`...)
		line = strconv.AppendFloat(line, row.ThinkS, 'f', 3, 64)
	}
	if row.Failed >= 0 {
		line = append(line, `,"is_failed":`...)
		line = strconv.AppendBool(line, row.Failed == 1)
	}
	text("tenant", t.Tenants[row.Tenant])
	if len(row.Blocks) > 0 {
		line = append(line, `,"blocks":[`...)
		for i, id := range row.Blocks {
			if i > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendUint(line, id, 10)
		}
		line = append(line, ']')
		whole("block_tokens", t.BlockTokens)
	}
	return append(line, '}', '\n')
}

// word is the name of a class or tenant, which may stand for several.
func word(list []string, at int32) string {
	if at == several {
		return other
	}
	return list[at]
}

// above and upTo are a cell's bounds in tokens. The first rung has no bound
// below.
func above(rung int32) string {
	if rung == 0 {
		return ""
	}
	return strconv.FormatInt(rungs[rung]-1, 10)
}

func upTo(rung int32) string { return strconv.FormatInt(rungs[rung]-1, 10) }

func writeCells(w *bufio.Writer, t *Trace, cells []Cell) error {
	out := csv.NewWriter(w)
	out.Write(lengthColumns)
	for _, c := range cells {
		from, until := "", ""
		if c.Window != all {
			from, until = fmt.Sprint(int64(c.Window)*3600), fmt.Sprint((int64(c.Window)+1)*3600)
		}
		out.Write([]string{from, until, word(t.Classes, c.Class), word(t.Tenants, c.Tenant),
			above(c.InFrom), upTo(c.InUntil), above(c.OutFrom), upTo(c.OutUntil), fmt.Sprint(c.Requests)})
	}
	out.Flush()
	return out.Error()
}

func writeRates(w *bufio.Writer, t *Trace, windows []Rate) error {
	out := csv.NewWriter(w)
	out.Write(rateColumns)
	for _, r := range windows {
		out.Write([]string{fmt.Sprint(r.From / second), fmt.Sprint(r.Until / second), word(t.Classes, r.Class), "", fmt.Sprint(r.Requests)})
	}
	out.Flush()
	return out.Error()
}
