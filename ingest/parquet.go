package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/ingest/hardware"
	"tidemark/ingest/read"
	"tidemark/ingest/traces"
	"tidemark/internal/hint"
)

// parquetFormat reads Parquet of any maker. Its reader is native code, which a
// hostile file can crash, so it runs in a process of its own (parquet_child.go)
// without access to anything else. That process hands back the columns that are of
// use as JSON lines, or as CSV where it is a table of kernel times. From there on
// the rows are read by the format that the columns belong to.
var parquetFormat = read.Format{
	Name:         "parquet",
	Sees:         seesParquet,
	Read:         readParquet,
	Wants:        "columns for the arrival, the input tokens and the output tokens, by any usual name or as --column says",
	TakesColumns: true,
	TakesUnit:    true,
	Kind:         "arrivals",
}

func seesParquet(h *read.Head) string {
	if !isParquet(h.Data) {
		return ""
	}
	return "a Parquet file"
}

// parquetErrand is what the other process is told, as JSON in its environment.
type parquetErrand struct {
	Columns  map[string]string `json:"columns"`
	IsDuckDB bool              `json:"is_duckdb"` // TraceLab's database, and not Parquet
}

// parquetHead is what it answers before the rows.
type parquetHead struct {
	Names []string `json:"names"` // all columns
	Read  []string `json:"read"`  // those of use, in the rows
	Texts []string `json:"texts"` // those that hold text, not in the rows
}

func readParquet(d *read.Document, out *read.Rows) error {
	return readApart(d, out, parquetErrand{Columns: d.Columns}, "Parquet", (*parquetChild).read)
}

// duckDBFormat reads TraceLab's database, in the other process as well.
var duckDBFormat = read.Format{
	Name:  "tracelab-duckdb",
	Sees:  func(h *read.Head) string { return read.If(isDuckDB(h.Data), "a DuckDB file") },
	Wants: "a DuckDB file with TraceLab's tables rounds and timing_events",
	Kind:  "arrivals",
	Read: func(d *read.Document, out *read.Rows) error {
		return readApart(d, out, parquetErrand{IsDuckDB: true}, "DuckDB", (*parquetChild).readTraceLab)
	},
}

func isParquet(head []byte) bool { return bytes.HasPrefix(head, read.ParquetMagic) }

// isDuckDB knows the file by its magic, behind a checksum.
func isDuckDB(head []byte) bool { return len(head) >= 12 && string(head[8:12]) == "DUCK" }

// readApart reads a file in the other process.
func readApart(d *read.Document, out *read.Rows, of parquetErrand, kind string, take func(*parquetChild, *read.Document, *read.Rows) error) error {
	is := isParquet
	if of.IsDuckDB {
		is = isDuckDB
	}
	file, err := onDisk(d, is)
	if err != nil {
		return err
	}
	defer file.Close()
	other, err := startParquetChild(out, of, file)
	if err != nil {
		return err
	}
	err = take(other, d, out)
	if ended := other.end(kind); ended != nil {
		return ended
	}
	return err
}

// onDisk is the file itself, or what it unpacks to, in a file without a name, so
// that nothing stays behind. Parquet is read from its end, so a pipe will not do.
func onDisk(d *read.Document, is func(head []byte) bool) (*os.File, error) {
	if sizeOf(d.Path) > 0 { // a pipe cannot be read twice
		file, err := os.Open(d.Path)
		if err != nil {
			return nil, err
		}
		head := make([]byte, 12)
		if _, err := io.ReadFull(file, head); err == nil && is(head) {
			return file, nil
		}
		file.Close()
	}
	file, err := os.CreateTemp("", "tidemark-parquet")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	if _, err := io.Copy(file, d.Reader()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// parquetChild is the other process as this one sees it.
type parquetChild struct {
	cmd    *exec.Cmd
	answer *bufio.Reader
	pipe   io.ReadCloser
	said   *bytes.Buffer
	hung   atomic.Bool
}

// errandVariable in the environment makes this program the reader of a Parquet file
// for its caller. See Child.
const errandVariable = "TIDEMARK_READ_PARQUET"

func startParquetChild(out *read.Rows, of parquetErrand, file *os.File) (*parquetChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	other := &parquetChild{cmd: exec.CommandContext(out.Context, self), said: &bytes.Buffer{}}
	other.cmd.Args = os.Args[:1]
	other.cmd.Env = []string{errandVariable + "=" + string(told)}
	other.cmd.ExtraFiles = []*os.File{file} // number 3
	other.cmd.Stderr = other.said
	if other.pipe, err = other.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := other.cmd.Start(); err != nil {
		return nil, err
	}
	other.answer = bufio.NewReaderSize(other, 1<<20)
	return other, nil
}

// longestSilence is how long the other process may take for its next rows before it
// is killed.
const longestSilence = 2 * time.Minute

func (o *parquetChild) Read(p []byte) (int, error) {
	watch := time.AfterFunc(longestSilence, func() {
		o.hung.Store(true)
		_ = o.cmd.Process.Kill()
	})
	defer watch.Stop()
	return o.pipe.Read(p)
}

// head reads what the other process says before the rows.
func (o *parquetChild) head() (head parquetHead, err error) {
	line, err := o.answer.ReadBytes('\n')
	if err == nil && json.Unmarshal(line, &head) != nil {
		err = errors.New("the process that reads the file answers something else")
	}
	return head, err // what an error is, end tells
}

// read takes the rows, by the format that their columns belong to.
func (o *parquetChild) read(d *read.Document, out *read.Rows) error {
	head, err := o.head()
	if err != nil {
		return err
	}
	for _, text := range head.Texts {
		if err := out.TextIn(text, "a column"); err != nil {
			return err
		}
	}
	if read.HasAll(head.Names, hardware.KernelTableMarks...) {
		out.About.Kind = hardware.KindKernelTimes
		return hardware.ReadKernelParquet(d, o.answer, out)
	}
	if read.HasAll(head.Names, "session_id", "start_ms", "requests") {
		return traces.ReadFreeInference(o.answer, out)
	}
	return traces.ReadColumns(d, head.Names, o.answer, out)
}

// readTraceLab takes the rounds of a database.
func (o *parquetChild) readTraceLab(d *read.Document, out *read.Rows) error {
	head, err := o.head()
	if err != nil {
		return err
	}
	if !read.HasAll(head.Names, traceLabTables...) {
		return hint.Errorf("a DuckDB file without TraceLab's tables rounds and timing_events").
			Hint(`take in an export of its requests: duckdb FILE -c "copy (select * from TABLE) to 'requests.parquet'"`)
	}
	return traces.ReadTraceLabRounds(d, o.answer, out)
}

// end waits for the other process and says what became of it. If rows are left,
// this process had enough, and that is not the other's fault.
func (o *parquetChild) end(kind string) error {
	_, err := o.answer.ReadByte()
	hadEnough := err == nil
	if hadEnough {
		_ = o.cmd.Process.Kill()
	}
	_ = o.pipe.Close()
	err = o.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case o.hung.Load():
		return hint.Errorf("%s: no row for %v", kind, longestSilence).Hint("write it again with another tool, or as CSV")
	case err == nil || hadEnough:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == exitUnreadable:
		return hint.Errorf("%s", kind+": "+strings.TrimSpace(o.said.String())).
			Hint("check where it came from; write it again with another tool, or as CSV")
	}
	return hint.Errorf("%s: its reader was brought down by the file", kind).Hint("write it again with another tool, or as CSV")
}
