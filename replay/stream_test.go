package replay

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/replay/wire"
)

// seen is what a stream comes to.
type seen struct {
	Chunks   []int32 // tokens of each token-bearing chunk; 0: not known
	Counted  int64   // ids; -1 where the server sends none
	Prompt   int64
	Output   int64
	Cached   int64
	Finish   string
	Done     bool
	Failure  string
	Protocol bool
	Inferred bool
}

const na = wire.UnknownCount

// The streams in testdata have the shapes of real servers: vLLM's Python and Rust frontends, llama.cpp, and what the
// SSE and JSON rules allow beyond that.
var streams = map[string]seen{
	"python-token-ids":   {[]int32{1, 1, 1, 1}, 4, 3, 4, 0, "length", true, "", false, false},
	"rust-token-ids":     {[]int32{1, 1, 1}, 3, 3, 3, na, "length", true, "", false, false}, // the opening and the finish bear no token
	"running-usage":      {[]int32{1, 1, 2, 1}, na, 5, 5, 0, "length", true, "", false, false},
	"text-only":          {[]int32{0, 0, 0}, na, 4, 5, na, "stop", true, "", false, false},
	"held-back":          {[]int32{1, 1, 1, 1, 1}, 5, 1, 5, 0, "length", true, "", false, false}, // an empty text is a token
	"stream-interval":    {[]int32{1, 4, 2}, 7, 2, 7, 0, "length", true, "", false, false},
	"abort":              {[]int32{1, 1}, 2, 2, 2, 0, "abort", true, "", false, false},
	"error-frame":        {[]int32{1}, 1, na, na, na, "", true, "503 Service Unavailable the engine is too busy", false, false},
	"error-string":       {nil, na, na, na, na, "", true, "Unauthorized", false, false},
	"error-line":         {nil, na, na, na, na, "", true, "500 server_error slot lost", false, false},
	"error-event":        {nil, na, na, na, na, "", true, "500 gone", false, false},
	"usage-with-finish":  {[]int32{0, 0}, na, 9, 2, na, "length", true, "", false, false}, // a final usage is no running one
	"no-done":            {[]int32{1, 1}, 2, na, na, na, "length", false, "", false, false},
	"no-usage":           {[]int32{1, 1}, 2, na, na, na, "length", true, "", false, false},
	"comments-crlf":      {[]int32{1, 1}, 2, 2, 2, 0, "length", true, "", false, false},
	"lone-cr":            {[]int32{1, 1}, 2, 2, 2, 0, "length", true, "", false, false},
	"several-data-lines": {[]int32{1}, 1, 2, 1, na, "length", true, "", false, false},
	"chat":               {[]int32{0, 0, 0}, na, 6, 4, na, "stop", true, "", false, false}, // reasoning and tool calls count, the role does not
	"all-hidden":         {nil, na, 3, 3, na, "length", true, "", false, true},
	"nothing":            {nil, na, 3, 0, na, "", true, "", false, false},
	"odd-keys":           {[]int32{1}, 1, 1, 1, na, "length", true, "", false, false},
	"chat-role-first":    {[]int32{1, 2, 1, 1}, 5, 9, 5, na, "stop", true, "", false, false}, // an empty content is a token, the role is none
	"utf8":               {[]int32{2, 1, 1}, 4, 9, 4, na, "length", true, "", false, false},
	"request-metrics":    {[]int32{1, 2}, 3, 9, 3, 0, "length", true, "", false, false},

	// Servers that are not vLLM: no ids, so a chunk's tokens are unknown and the usage counts.
	"llamacpp-completions": {[]int32{0, 0, 0}, na, 9, 3, na, "length", true, "", false, false},
	"llamacpp-chat":        {[]int32{0, 0}, na, 9, 3, 7, "length", true, "", false, false},
	"sglang-completions":   {[]int32{0, 0, 0}, na, 9, 3, na, "length", true, "", false, false},
	"sglang-chat":          {[]int32{0, 0, 0}, na, 9, 3, 4, "stop", true, "", false, false},
	"tgi-chat":             {[]int32{0, 0, 0}, na, 9, 3, na, "length", true, "", false, false}, // a role with every text
	"tgi-error":            {[]int32{0}, na, na, na, na, "", false, "Request failed during generation: CUDA out of memory", false, false},
	"ollama-completions":   {[]int32{0, 0}, na, 9, 3, na, "stop", true, "", false, false},
	"ollama-chat":          {[]int32{0, 0, 0}, na, 9, 3, na, "stop", true, "", false, false},

	"broken": {nil, na, na, na, na, "", true, "", true, false},
}

func TestStreamsHoweverTheyAreCut(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.txt")
	if err != nil || len(files) != len(streams) {
		t.Fatalf("%d files for %d streams, %v", len(files), len(streams), err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		want, known := streams[name]
		if !known {
			t.Errorf("nothing is wanted of %s", name)
		}
		text, _ := os.ReadFile(file)
		if got := read(text, func() int { return len(text) }); !reflect.DeepEqual(got, want) {
			t.Errorf("%s in one piece: got %+v, want %+v", name, got, want)
		}
		if got := read(text, func() int { return 1 }); !reflect.DeepEqual(got, want) {
			t.Errorf("%s byte by byte: got %+v, want %+v", name, got, want)
		}
		for range 50 {
			if got := read(text, func() int { return 1 + rnd.IntN(200) }); !reflect.DeepEqual(got, want) {
				t.Errorf("%s in pieces: got %+v, want %+v", name, got, want)
			}
		}
	}
}

// read feeds a stream in pieces, out of a buffer that is overwritten each time as a connection's is.
func read(text []byte, size func() int) seen {
	var s stream
	var p wire.SSE
	s.reset(0, &meter{}, false)
	p.Reset(1<<20, func(name, data []byte) { s.event(name, data, time.Millisecond) })
	buf := make([]byte, len(text))
	for len(text) > 0 {
		n := copy(buf, text[:min(size(), len(text))])
		text = text[n:]
		if err := p.Parse(buf[:n]); err != nil {
			s.protocol = err
		}
		for i := range buf[:n] {
			buf[i] = '#'
		}
	}
	p.End()
	s.infer()
	got := seen{append([]int32(nil), s.counts...), na, s.usage.Prompt, s.usage.Completion, s.usage.Cached, s.finish, s.isDone,
		"", s.protocol != nil, s.inferred}
	if s.hasIDs {
		got.Counted = s.counted
	}
	if s.failure != nil {
		got.Failure = s.failure.String()
	}
	return got
}

func TestALineWithoutEndIsRefused(t *testing.T) {
	var p wire.SSE
	p.Reset(1000, func(_, _ []byte) {})
	var err error
	for range 20 {
		if err = p.Parse(bytes.Repeat([]byte("x"), 100)); err != nil {
			return
		}
	}
	t.Error("2,000 bytes without a line end passed a limit of 1,000")
}

func TestParsingDoesNotAllocate(t *testing.T) {
	var s stream
	var p wire.SSE
	s.reset(0, &meter{}, false)
	at := time.Millisecond
	p.Reset(1<<20, func(name, data []byte) { s.event(name, data, at) })
	text := []byte("data: " + tokenChunk(5, "") + "\n\n")
	half := len(text) / 2
	allocs := testing.AllocsPerRun(1000, func() {
		p.Parse(text[:half])
		p.Parse(text[half:])
		p.Parse(text)
		s.offsets, s.counts = s.offsets[:0], s.counts[:0]
	})
	if allocs > 0 {
		t.Errorf("%v allocations for two chunks", allocs)
	}
}

func BenchmarkParse(b *testing.B) {
	var s stream
	var p wire.SSE
	s.reset(0, &meter{}, false)
	at := time.Millisecond
	p.Reset(1<<20, func(name, data []byte) { s.event(name, data, at) })
	text := []byte("data: " + tokenChunk(5, "") + "\n\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.Parse(text)
		s.offsets, s.counts = s.offsets[:0], s.counts[:0]
	}
}

// However a stream is cut and whatever is in it, the parser neither panics nor grows past its limit.
func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/streams/*.txt")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		f.Add(text, uint8(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole := read(text, func() int { return len(text) })
		cut := read(text, func() int { return int(size) + 1 })
		if !reflect.DeepEqual(whole, cut) {
			t.Errorf("%q: whole %+v, in pieces of %d %+v", text, whole, size+1, cut)
		}
	})
}
