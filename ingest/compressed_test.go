//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

func gzipOf(t testing.TB, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	must.Get(writer.Write(content))(t)
	must.Do(t, writer.Close())
	return packed.Bytes()
}

func xzOf(t testing.TB, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := must.Get(xz.NewWriter(&packed))(t)
	must.Get(writer.Write(content))(t)
	must.Do(t, writer.Close())
	return packed.Bytes()
}

// someRows is a trace that does not compress to nothing.
func someRows(rows int) []byte {
	var content bytes.Buffer
	content.WriteString(header)
	for i := range rows {
		fmt.Fprintf(&content, "2024-01-01 %02d:%02d:%02d.%07d,%d,%d\n", i/3600%24, i/60%60, i%60, i*7919%10000000, i*31%5000, i*17%700)
	}
	return content.Bytes()
}

func TestCompressed(t *testing.T) {
	plain := someRows(20_000)
	half := bytes.IndexByte(plain[len(plain)/2:], '\n') + 1 + len(plain)/2
	cases := []struct {
		why     string
		content []byte
	}{
		{"gzip", gzipOf(t, plain)},
		{"zstd", zstdOf(t, plain)},
		{"xz", xzOf(t, plain)},
		{"two gzip members, one after the other", append(gzipOf(t, plain[:half]), gzipOf(t, plain[half:])...)},
		{"two zstd frames, one after the other", append(zstdOf(t, plain[:half]), zstdOf(t, plain[half:])...)},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			result := load(t, w, write(t, "trace.csv.gz", c.content), ingest.Options{})
			if result.RowsKept != 20_000 || result.RowsRejected != 0 {
				t.Errorf("got %+v", result)
			}
			if size := number(t, w, "select size_bytes from raw.sources"); size != int64(len(c.content)) {
				t.Errorf("size: got %d, want the %d bytes on disk", size, len(c.content))
			}
		})
	}
}

func TestCompressedAndBroken(t *testing.T) {
	plain := someRows(20_000)
	gzipped, zstded := gzipOf(t, plain), zstdOf(t, plain)
	flipped := bytes.Clone(gzipped)
	flipped[len(flipped)/2] ^= 0xff
	cases := []struct {
		why, words string
		content    []byte
	}{
		{"gzip, cut", "gzip: the file is cut", gzipped[:len(gzipped)/2]},
		{"zstd, cut", "zstd: the file is cut", zstded[:len(zstded)/2]},
		{"xz, cut", "xz: the file is cut", xzOf(t, plain)[:5000]},
		{"gzip, cut in its header", "gzip: the file is cut", gzipped[:5]},
		{"gzip, and something behind it", "something that is not compressed data follows", append(bytes.Clone(gzipped), "garbage that is long enough"...)},
		{"zstd, and something behind it", "something that is not compressed data follows", append(bytes.Clone(zstded), "garbage that is long enough"...)},
		{"gzip with a flipped byte", "gzip: ", flipped},
		{"compressed twice", "saw a file that was compressed twice", gzipOf(t, gzipped)},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			refused(t, open(t), write(t, "trace", c.content), ingest.Options{}, c.words)
		})
	}
}

// A file that unpacks to a thousand times its size is refused soon, whatever it
// unpacks to.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("packs and unpacks some hundred megabytes")
	}
	rows := header + strings.Repeat("2024-01-01 00:00:00,1,1\n", 1000)
	var gzipped, zstded bytes.Buffer
	encoder := must.Get(zstd.NewWriter(&zstded))(t)
	pack(t, gzip.NewWriter(&gzipped), "")
	pack(t, encoder, rows)
	refused(t, open(t), write(t, "zeros", gzipped.Bytes()), ingest.Options{}, "gzip: unpacks to more than")
	refused(t, open(t), write(t, "rows and zeros", zstded.Bytes()), ingest.Options{}, "zstd: unpacks to more than")
}

// pack writes the head and 300 MB of zeros.
func pack(t *testing.T, into io.WriteCloser, head string) {
	t.Helper()
	_, err := into.Write([]byte(head))
	zeros := make([]byte, 1<<20)
	for i := 0; i < 300 && err == nil; i++ {
		_, err = into.Write(zeros)
	}
	if err == nil {
		err = into.Close()
	}
	must.Do(t, err)
}
