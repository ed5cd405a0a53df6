package vllmsim

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
)

// The client of a benchmark is this test binary again, in a process of its own,
// so that the server's CPU time can be told from its.
const benchClient = "VLLMSIM_BENCH_CLIENT"

func runBenchClient() bool {
	spec := os.Getenv(benchClient)
	if spec == "" {
		return false
	}
	var address string
	var streams, tokens int
	if _, err := fmt.Sscan(spec, &address, &streams, &tokens); err != nil {
		panic(err)
	}
	body := fmt.Sprintf(`{"prompt":%s,"max_tokens":%d,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`, appendIDs(nil, ids(300, 100)), tokens)
	var work sync.WaitGroup
	for range streams {
		work.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
			all, err := io.ReadAll(conn)
			if err != nil || !bytes.Contains(all, fmt.Appendf(nil, `"completion_tokens":%d`, tokens)) {
				panic(fmt.Sprint("bad answer: ", err))
			}
		})
		time.Sleep(100 * time.Microsecond) // spread over the steps
	}
	work.Wait()
	return true
}

func cpu() time.Duration { return time.Duration(processUsage().cpuSeconds * 1e9) }

// load runs streams of tokens each and reports what they cost the server.
func load(b *testing.B, c Config, streams, tokens int) {
	c.RecordTruth = true
	for b.Loop() {
		s, url := serve(b, c)
		client := exec.Command(os.Args[0])
		client.Env = append(os.Environ(), benchClient+"="+fmt.Sprint(strings.TrimPrefix(url, "http://"), " ", streams, " ", tokens))
		client.Stderr = os.Stderr
		used, began := cpu(), time.Now()
		must.Do(b, client.Run())
		took := time.Since(began)
		used = cpu() - used
		total := float64(streams * tokens)
		b.ReportMetric(float64(used.Microseconds())/total, "us-cpu/token")
		b.ReportMetric(used.Seconds()/took.Seconds(), "cores")
		b.ReportMetric(total/took.Seconds(), "tokens/s")
		reportLateness(b, s)
		s.Close()
	}
}

// reportLateness tells how far first tokens and mean gaps are from Fixed.
func reportLateness(b *testing.B, s *Server) {
	if s.cfg.Fixed == nil {
		return
	}
	var first, gap []float64
	tokens, chunks := 0, 0
	for _, t := range s.truths {
		tokens, chunks = tokens+t.tokens, chunks+t.chunks
		first = append(first, (t.first-t.began-s.cfg.Fixed.TTFT).Seconds()*1e6)
		gap = append(gap, 100*((t.last-t.first).Seconds()/float64(t.tokens-1)/s.cfg.Fixed.TPOT.Seconds()-1))
	}
	b.ReportMetric(float64(tokens)/float64(chunks), "tokens/chunk")
	slices.Sort(first)
	slices.Sort(gap)
	at := func(v []float64, share float64) float64 { return v[int(share*float64(len(v)-1))] }
	b.ReportMetric(at(first, 0.5), "us-late-p50")
	b.ReportMetric(at(first, 0.99), "us-late-p99")
	b.ReportMetric(at(gap, 0.99), "%-tpot-off-p99")
}

// BenchmarkEngine is 100 sequences that decode a token each per 20 ms step.
func BenchmarkEngine(b *testing.B) {
	c := small()
	c.MaxNumSeqs, c.KVBlocks, c.EndOfText = 128, 8192, -1
	c.StepTime = func(engine.Step) time.Duration { return 20 * time.Millisecond }
	load(b, c, 100, 250)
}

// BenchmarkFixed is 100 streams of 5,000 tokens a second together.
func BenchmarkFixed(b *testing.B) {
	c := small()
	c.Fixed = &Fixed{TTFT: 100 * time.Millisecond, TPOT: 20 * time.Millisecond}
	load(b, c, 100, 250)
}

// BenchmarkFixedFull asks for 80,000 tokens a second: 800 streams, 10 ms apart.
func BenchmarkFixedFull(b *testing.B) {
	c := small()
	c.Fixed = &Fixed{TTFT: 100 * time.Millisecond, TPOT: 10 * time.Millisecond}
	load(b, c, 800, 300)
}

// BenchmarkReadTextRequest is the body of a prompt of 100,000 token ids.
func BenchmarkReadTextRequest(b *testing.B) {
	c := small()
	c.MaxModelLen, c.KVBlocks = 200_000, 20_000
	s := must.Get(New(c))(b)
	prompt := make([]int32, 100_000)
	for i := range prompt {
		prompt[i] = int32(300 + i%7000)
	}
	body := append(appendIDs([]byte(`{"model":"tiny","max_tokens":10,"stream":true,"prompt":`), prompt), '}')
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, refusal := s.readTextRequest(body, false, ""); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
