package replay

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/replay/engines"
	"tidemark/replay/plan"
)

// simulated starts a simulated vLLM of 16-token blocks.
func simulated(t *testing.T, change func(*vllmsim.Config)) (base string) {
	t.Helper()
	c := vllmsim.Config{Config: engine.Config{Model: "tiny", MaxModelLen: 8192, EnablePrefixCaching: true,
		StepTime: func(engine.Step) time.Duration { return time.Millisecond }}}
	if change != nil {
		change(&c)
	}
	server := must.Get(vllmsim.New(c))(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return "http://" + l.Addr().String()
}

// sharing are requests that share 512 and 1,024 tokens with the first, and one alone. With one in flight at a time each
// finds what those before it left.
func sharing() []plan.Request {
	blocks := [][]uint64{{1, 2, 3}, {1, 5}, {1, 2, 9}, nil}
	var requests []plan.Request
	for i, ids := range blocks {
		requests = append(requests, plan.Request{Due: time.Duration(i) * time.Millisecond, InputTokens: 1100, OutputTokens: 4,
			Blocks: ids, BlockTokens: 512})
	}
	return requests
}

// 512 and 1,024 shared tokens are 32 and 64 whole blocks of the server.
func TestAChatIsAsLongAndSharesAsMuchAsPlanned(t *testing.T) {
	s := settingsFor(simulated(t, nil))
	s.Endpoint, s.MaxConcurrency = chatPath, 1
	folder := filepath.Join(t.TempDir(), "run")
	requests := sharing()
	requests = append(requests, plan.Request{Due: 6 * time.Millisecond, InputTokens: 60, OutputTokens: 3},
		plan.Request{Due: 7 * time.Millisecond, InputTokens: 2, OutputTokens: 3})
	result, err := Run(t.Context(), planOf(t, plan.Each(requests)), s, folder)
	if err != nil || result.Completed != 6 {
		t.Fatalf("%+v, %v", result, err)
	}
	cached := []int64{0, 512, 1024}
	rows := rowsIn(t, folder)
	for _, r := range rows {
		if want := int64(r.InputTokens); r.InputTokens > 2 && *r.InReported != want {
			t.Errorf("row %d: %d prompt tokens, planned %d", r.Seq, *r.InReported, want)
		}
		if r.Seq < 3 && *r.Cached != cached[r.Seq] {
			t.Errorf("row %d: %d cached tokens, planned %d", r.Seq, *r.Cached, cached[r.Seq])
		}
		if r.OutCounted == nil || *r.OutCounted != int64(r.OutputTokens) {
			t.Errorf("row %d: %+v", r.Seq, r)
		}
	}
	d := documentIn(t, folder)
	if p := d.Prompts; p == nil || p.CountedBy != "tokenize" || p.Words < plan.EnoughWords || len(p.Checked) != 3 || p.TemplateTokens == nil ||
		p.Checked[1].Counted != p.Checked[1].Planned || p.Checked[2].Counted != 1100 || p.Note != "" {
		t.Errorf("prompts: %+v", d.Prompts)
	}
	// The template alone is longer than two tokens: such a prompt cannot be had, and is said to be too long.
	if p := d.Prompts; p.Checked[0].Planned != 2 || p.Checked[0].Counted != p.OverheadTokens || p.Deviation != p.OverheadTokens-2 {
		t.Errorf("prompts: %+v", p)
	}
}

// spacy is a tokenizer in which a blank and a word are one token, but words with an e are two, whose template trims.
func spacy(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Prompt   string `json:"prompt"`
		Messages []struct{ Content string }
	}
	json.NewDecoder(r.Body).Decode(&question)
	text, tokens := question.Prompt, []int{7} // a begin of text, asked for or not
	if question.Messages != nil {
		text, tokens = strings.TrimSpace(question.Messages[0].Content), []int{7, 8, 9}
	}
	for word := range strings.FieldsSeq(text) {
		id := 100
		for _, letter := range word {
			id = id*31 + int(letter)
		}
		tokens = append(tokens, id)
		if strings.Contains(word, "e") {
			tokens = append(tokens, 11)
		}
	}
	if question.Messages != nil {
		tokens = append(tokens, 12)
	}
	json.NewEncoder(w).Encode(map[string]any{"count": len(tokens), "tokens": tokens, "max_model_len": 4096})
}

// tokensOfChat is what a chat that was sent is to spacy.
func tokensOfChat(t *testing.T, base, content string) int {
	t.Helper()
	s := settingsFor(base)
	targets, _ := s.targets()
	asker := newControlClient(s, targets)
	defer asker.close()
	tokens := must.Get(asker.tokenizer(Server{target: targets[0], engine: engines.VLLM}, "tiny").ChatTokens(t.Context(), content))(t)
	return len(tokens)
}

func TestOnlyWordsOfOneTokenAreSent(t *testing.T) {
	fake := newFake(t, well(0))
	fake.others = map[string]http.HandlerFunc{"/tokenize": spacy}
	s := settingsFor(fake.URL)
	s.Endpoint = chatPath
	folder := ran(t, planOf(t, every(0, 5, 120, 3)), s)
	if len(fake.bodies) != 5 {
		t.Fatalf("%d requests", len(fake.bodies))
	}
	seen := map[string]bool{}
	for _, body := range fake.bodies {
		if len(body.Messages) != 1 || body.Messages[0].Role != "user" || body.Prompt != nil || !body.ReturnIDs || !body.IgnoreEOS ||
			body.MinTokens != 3 || body.MaxTokens != 3 || !body.StreamField.IncludeUsage {
			t.Fatalf("body: %+v", body)
		}
		content := body.Messages[0].Content
		if n := tokensOfChat(t, fake.URL, content); n != 120 {
			t.Errorf("%d tokens: %s", n, content)
		}
		if strings.Contains(content, "e") || seen[content] {
			t.Errorf("a word of two tokens, or the same prompt again: %s", content)
		}
		seen[content] = true
	}
	if d := documentIn(t, folder); d.Prompts.OverheadTokens != 5 || d.Prompts.Deviation != 0 || d.Target.Endpoint != chatPath {
		t.Errorf("%+v", d.Prompts)
	}
}

func TestWithoutATokenizerAWordIsTakenForATokenAndTheRunSaysSo(t *testing.T) {
	for what, other := range map[string]http.HandlerFunc{
		"no such path":     http.NotFound,
		"another's answer": status(200, `{"tokens":[1,2]}`),
		"no single word is a token": func(w http.ResponseWriter, r *http.Request) {
			io := make([]int, 40)
			json.NewEncoder(w).Encode(map[string]any{"count": len(io), "tokens": io})
		},
	} {
		fake := newFake(t, well(0))
		fake.others = map[string]http.HandlerFunc{"/tokenize": other}
		s := settingsFor(fake.URL)
		s.Endpoint = chatPath
		folder := ran(t, planOf(t, every(0, 1, 50, 3)), s)
		if n := len(strings.Fields(fake.bodies[0].Messages[0].Content)); n != 51 {
			t.Errorf("%s: %d words", what, n)
		}
		if d := documentIn(t, folder); d.Prompts.CountedBy != "assumed" || !strings.Contains(d.Prompts.Note, "each word counts as one token") {
			t.Errorf("%s: %+v", what, d.Prompts)
		}
	}
}

// A template that counts otherwise with length cannot be made right: the deviation is kept.
func TestADeviationOfTheTokenizerIsKept(t *testing.T) {
	fake := newFake(t, well(0))
	fake.others = map[string]http.HandlerFunc{"/tokenize": func(w http.ResponseWriter, r *http.Request) {
		var answer struct{ Tokens []int }
		rec := &recorder{header: http.Header{}}
		spacy(rec, r)
		json.Unmarshal(rec.body, &answer)
		for range len(answer.Tokens) / 1000 { // one more for each thousand
			answer.Tokens = append(answer.Tokens, 13)
		}
		json.NewEncoder(w).Encode(map[string]any{"count": len(answer.Tokens), "tokens": answer.Tokens})
	}}
	s := settingsFor(fake.URL)
	s.Endpoint = chatPath
	folder := filepath.Join(t.TempDir(), "run")
	plan := planOf(t, plan.Each([]plan.Request{{InputTokens: 100, OutputTokens: 2}, {InputTokens: 2500, OutputTokens: 2}}))
	must.Get(Run(t.Context(), plan, s, folder))(t)
	if p := documentIn(t, folder).Prompts; p.Deviation != 2 || fmt.Sprint(p.Checked) != "[{0 100 100} {1 2500 2502}]" {
		t.Errorf("%+v", p)
	}
}

type recorder struct {
	header http.Header
	body   []byte
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(int)             {}
func (r *recorder) Write(p []byte) (int, error) { r.body = append(r.body, p...); return len(p), nil }

func TestBodiesAreJSONAndCostNoAllocationAToken(t *testing.T) {
	text := plan.NewChatText(strings.Fields(strings.Repeat("alpha beta gamma ", 20)))
	text.Front, text.Back = 4, 7
	words := must.Get(plan.NewPrompts(0, len(text.Words), 1))(t)
	words.Text = text
	ids, _ := plan.NewPrompts(plan.DefaultVocabLow, plan.DefaultVocabHigh, 1)
	for what, prompts := range map[string]plan.Prompts{"ids": ids, "words": words} {
		prompts.Salt = plan.CacheSalt{Stem: "0badc0de", IsEach: true}
		w := newRequestWriter("/v1/x", "host", Settings{Model: `a "model"`, RunID: "r"}, engines.VLLM.Fields, prompts)
		var buf, out []byte
		req := plan.Request{Seq: 255, InputTokens: 20_000, OutputTokens: 9, Blocks: []uint64{1, 1 << 40}, BlockTokens: 512}
		buf, out = w.request(buf, req)
		_, body, _ := strings.Cut(string(out), "\r\n\r\n")
		var got completion
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got.Model != `a "model"` || got.CacheSalt != "0badc0de00000000000000ff" || got.MaxTokens != 9 {
			t.Errorf("%s: %+v", what, got)
		}
		if what == "ids" && len(got.Prompt) != 20_000 || what == "words" && len(strings.Fields(got.Messages[0].Content)) != 20_000-11+1 {
			t.Errorf("%s: a prompt of another length", what)
		}
		if w.size(req) < len(out) {
			t.Errorf("%s: %d bytes, %d expected", what, len(out), w.size(req))
		}
		if n := testing.AllocsPerRun(5, func() { buf, _ = w.request(buf, req) }); n > 8 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}
