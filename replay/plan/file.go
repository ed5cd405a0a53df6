// A plan file: a header line, then a line for each request, as zstd frames. The header has counts that are known last, so
// the requests are written to a temporary file next to the plan and joined behind it. Opening a plan reads it once to its
// end: a plan that was cut off must be found before a server was warmed up for it.

package plan

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"

	"github.com/klauspost/compress/zstd"
)

// planSchema is the version of the format. Fields may be added under the same version; a reader ignores those that it
// does not know.
const planSchema = "tidemark.plan/1"

// Header is the first line of a plan: what it is and what it holds. WritePlan counts; the caller says the source, the
// part of it that was taken (Scaling.FromS and UntilS) and MaxConcurrency.
type Header struct {
	Schema            string  `json:"schema"`
	Source            string  `json:"source"`
	SourceSHA256      string  `json:"source_sha256"`
	Seed              uint64  `json:"seed"`
	Mode              string  `json:"mode"` // what it was made for: "open" or "sessions"; "" is open
	Scaling           Scaling `json:"scaling"`
	Requests          int64   `json:"requests"`
	InputTokens       int64   `json:"input_tokens"`
	OutputTokens      int64   `json:"output_tokens"`
	DurationS         float64 `json:"duration_s"`        // when the last request is due
	MeanRatePerS      float64 `json:"mean_rate_per_s"`   // (requests - 1) / (last due - first due); 0 when all are due at once
	PeakRatePerS      float64 `json:"peak_rate_per_s"`   // most requests due within any one second, and never below the mean
	BlockTokens       int     `json:"block_tokens"`      // 0: the source has no prefix blocks
	SharedTokens      int64   `json:"shared_tokens"`     // prompt tokens whose blocks an earlier request had
	ShortLastBlocks   int64   `json:"short_last_blocks"` // prompts that leave what others had in a block too short to say its id
	SourceRequests    int64   `json:"source_requests"`   // requests looked at before any choice
	ThinDropped       int64   `json:"thin_dropped"`      // left out by thin
	ClassDropped      int64   `json:"class_dropped,omitempty"`
	ZeroOutputDropped int64   `json:"zero_output_dropped"` // without output in the source (it failed there): cannot be asked for
	ZeroInputDropped  int64   `json:"zero_input_dropped"`  // without a prompt in the source
	OverlongDropped   int64   `json:"overlong_dropped"`
	OverlongCut       int64   `json:"overlong_cut"` // left out with them: later turns of a session that lost one
	OverlongCapped    int64   `json:"overlong_capped"`

	Sessions           int64 `json:"sessions"`             // requests without a session are one each
	LongestTokens      int   `json:"longest_tokens"`       // most prompt and output tokens of one request
	LongestInputTokens int   `json:"longest_input_tokens"` // most prompt tokens of one request

	// Classes are the names of the classes in the plan, in order; of more than maxClasses only so many.
	Classes        []string `json:"classes,omitempty"`
	MaxConcurrency int      `json:"max_concurrency"` // what it is meant to be sent with, as the caller says; 0: nothing is said
}

// Scaling is how the source became the plan. A nil FromS or UntilS is the source's own start or end.
type Scaling struct {
	FromS       *float64 `json:"from_s"`
	UntilS      *float64 `json:"until_s"`
	Speed       float64  `json:"speed"`
	Thin        float64  `json:"thin"`
	Thicken     float64  `json:"thicken"`
	DurationS   float64  `json:"duration_s"` // 0: no limit
	Limit       int64    `json:"limit"`      // 0: no limit
	MaxModelLen int      `json:"max_model_len"`
	Overlong    string   `json:"overlong"`
	Lengths     string   `json:"lengths,omitempty"`       // LengthsMean: every request has the average lengths; empty: its own
	SpreadTickS float64  `json:"spread_tick_s,omitempty"` // requests of one tick of the source's clock were spread over it; 0: sent as they came

	// SessionRatePerS says that the source's sessions have no start of their own, and that these were drawn at so many
	// a second; 0: all times are the source's.
	SessionRatePerS float64 `json:"session_rate_per_s,omitempty"`
	DrawnSessions   int64   `json:"drawn_sessions,omitempty"`
}

// Write streams the source, which comes in order of due time, through the choices into a plan file at path, which
// must not exist. In memory it holds only block ids and sessions. The header it returns is the plan's first line.
func Write(path string, header Header, choices Choices, source iter.Seq2[Request, error]) (_ Header, err error) {
	if choices, err = choices.settled(); err != nil {
		return header, err
	}
	header.begin(choices)
	return writePlan(path, header, func(header *Header, body *lineFile) error { return header.fill(body, choices, source) })
}

// writePlan makes a plan file at path, which must not exist. fill writes the requests, and completes the header.
func writePlan(path string, header Header, fill func(*Header, *lineFile) error) (_ Header, err error) {
	file, err := createNew(path)
	if err != nil {
		return header, fmt.Errorf("plan: %w", err)
	}
	defer func() {
		if err = cmp.Or(err, file.Close()); err != nil {
			os.Remove(path)
		}
	}()
	// The counts stand in the first line and are known last, so the requests wait in a file of their own.
	body, err := newLineFile(filepath.Dir(path))
	if err != nil {
		return header, err
	}
	defer body.remove()
	if err := fill(&header, body); err != nil {
		return header, err
	}
	if err := body.close(); err != nil {
		return header, fmt.Errorf("plan: %w", err)
	}
	if err := joinPlan(file, header, body.file); err != nil {
		return header, fmt.Errorf("plan %s: %w", path, err)
	}
	return header, nil
}

// begin writes the choices into the header, which says by itself how the plan was made.
func (h *Header) begin(c Choices) {
	h.Schema, h.Seed, h.Mode = planSchema, c.Seed, c.Mode
	s := &h.Scaling
	s.Speed, s.Thin, s.Thicken = c.Speed, c.Thin, c.Thicken
	s.DurationS, s.Limit, s.MaxModelLen, s.Overlong = c.Duration.Seconds(), c.Limit, c.MaxModelLen, c.Overlong
	s.SpreadTickS = c.SpreadTicks.Seconds()
	s.Lengths = c.Lengths
}

// fill runs the source through the choices into the body and counts; the header is complete when it returns.
func (h *Header) fill(body *lineFile, choices Choices, source iter.Seq2[Request, error]) error {
	d := &draft{choices: choices, header: h, folder: filepath.Dir(body.file.Name()), cut: map[uint64]bool{}}
	t := newTotals(h)
	for req, err := range d.chosen(source) {
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		t.add(&req)
		if err := body.add(req); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	if err := d.refusal(); err != nil {
		return err
	}
	if h.Requests == 0 {
		return hint.Errorf("plan: no request is left to send (%d in the source's window)", h.SourceRequests).
			Hint("look at the window, the limit and what was thinned or dropped")
	}
	t.end()
	return nil
}

// joinPlan writes the header's frame and then the requests' frame; readers see one stream.
func joinPlan(file *os.File, header Header, body *os.File) error {
	lines, err := NewLineWriter(file)
	if err != nil {
		return err
	}
	line, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if _, err := lines.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := lines.Close(); err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(file, body); err != nil {
		return err
	}
	return file.Sync()
}

// Plan is a plan file that was read once to its end, so that a cut one is found before anything is sent.
type Plan struct {
	path        string
	header      Header
	fingerprint string
}

// IsFile looks at the name only, so that a plan that does not exist is reported as a missing file.
func IsFile(name string) bool { return strings.HasSuffix(name, ".zst") }

// Open checks the plan at path. It keeps no request in memory.
func Open(path string) (*Plan, error) {
	file, err := userfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer file.Close()
	p := &Plan{path: path}
	if err := p.check(file); err != nil {
		return nil, hint.Errorf("plan %s: %w", path, err).Hint(`make a plan with "tidemark plan SOURCE --output PLAN"`)
	}
	return p, nil
}

// Header is what the plan says of itself.
func (p *Plan) Header() Header { return p.header }

// Path is where the plan lies.
func (p *Plan) Path() string { return p.path }

// MovedTo is the same plan at another place, where a copy of it lies.
func (p *Plan) MovedTo(path string) *Plan {
	moved := *p
	moved.path = path
	return &moved
}

// Fingerprint is the sha256 of the plan's uncompressed bytes, in hex.
func (p *Plan) Fingerprint() string { return p.fingerprint }

// Requests streams the plan in order of due time.
func (p *Plan) Requests() iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		file, err := userfile.Open(p.path)
		if err != nil {
			yield(Request{}, fmt.Errorf("plan: %w", err))
			return
		}
		defer file.Close()
		readRequests(file, 1, func(req Request, err error) bool {
			if err != nil {
				err = fmt.Errorf("plan %s: %w", p.path, err)
			}
			return yield(req, err)
		})
	}
}

// check reads all lines and counts them; only their number and the fingerprint are kept.
func (p *Plan) check(file io.Reader) error {
	hash := sha256.New()
	in, err := NewLineReader(file, hash)
	if err != nil {
		return err
	}
	defer in.Close()
	first, err := in.Next()
	if err != nil {
		return fmt.Errorf("not a plan: %w", unexpected(err))
	}
	if err := json.Unmarshal(first, &p.header); err != nil || p.header.Schema != planSchema {
		return fmt.Errorf("not a plan: its first line does not say %q", planSchema)
	}
	lines := int64(0)
	for {
		line, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", lines+2, unexpected(err))
		}
		if len(line) == 0 || line[0] != '{' {
			return fmt.Errorf("line %d: not a request", lines+2)
		}
		if lines++; lines > p.header.Requests { // do not read on: what follows may have no end
			return fmt.Errorf("holds more than the %d requests that its first line says", p.header.Requests)
		}
	}
	if lines == 0 {
		return errors.New("holds no request")
	}
	if lines < p.header.Requests {
		return fmt.Errorf("holds %d requests, its first line says %d", lines, p.header.Requests)
	}
	p.fingerprint = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// readRequests yields the requests of a stream of lines, after skip lines.
func readRequests(file io.Reader, skip int, yield func(Request, error) bool) {
	in, err := NewLineReader(file, nil)
	if err != nil {
		yield(Request{}, err)
		return
	}
	defer in.Close()
	for n := 1; ; n++ {
		line, err := in.Next()
		if err == io.EOF {
			return
		}
		var req Request
		if err == nil && n > skip {
			req, err = parseRequest(line)
		}
		if err != nil {
			yield(req, fmt.Errorf("line %d: %w", n, unexpected(err)))
			return
		}
		if n > skip && !yield(req, nil) {
			return
		}
	}
}

// unexpected says in words what the end of a file means in the middle of a line.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is empty or cut off")
	}
	return err
}

// createNew makes a file that must not exist yet.
func createNew(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, hint.Errorf("%s exists", path).Hint("name another file; nothing is overwritten")
	}
	return file, err
}

// LineWriter compresses; one worker and a small window keep it under 4 MB.
type LineWriter struct{ *zstd.Encoder }

// NewLineWriter uses the fastest level: a plan compresses well at any level, and writing must keep up with a stream of
// requests.
func NewLineWriter(w io.Writer) (*LineWriter, error) {
	enc, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithEncoderLevel(zstd.SpeedFastest))
	return &LineWriter{enc}, err
}

// longestLine is in bytes: ten times a prompt of ten million tokens whose blocks have 128. A file that was made to fill the memory has longer ones.
const longestLine = 16 << 20

// LineReader yields the lines of a compressed stream.
type LineReader struct {
	dec *zstd.Decoder
	buf *bufio.Reader
	sum io.Writer
	big []byte // a line longer than the buffer
}

// NewLineReader limits the window of a hostile file to 64 MB. sum, where it is not nil, is given every uncompressed
// byte.
func NewLineReader(r io.Reader, sum io.Writer) (*LineReader, error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, err
	}
	return &LineReader{dec: dec, buf: bufio.NewReaderSize(dec, 64<<10), sum: sum}, nil
}

func (l *LineReader) Close() { l.dec.Close() }

// Next is the next line without its end; it is valid until the next call. A last line without an end was cut.
func (l *LineReader) Next() ([]byte, error) {
	line, err := l.buf.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.big = append(l.big[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = l.buf.ReadSlice('\n')
			if l.big = append(l.big, line...); len(l.big) > longestLine {
				return nil, fmt.Errorf("longer than %d MiB, refused", longestLine>>20)
			}
		}
		line = l.big
	}
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if l.sum != nil {
		l.sum.Write(line)
	}
	return line[:len(line)-1], nil
}
