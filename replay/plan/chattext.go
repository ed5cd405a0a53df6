// Chat endpoints take text and put a template around it, so a prompt's length in tokens is not in our hands. Two measures
// make it exact where the server has a tokenizer to ask: only words that are one token each (with a blank in front) are
// used, and the template is measured once, in front of the words and behind them, and counts as part of the planned prompt.
// Some of the plan's own prompts are counted by the server before the run, and the largest deviation is kept in run.json.

package plan

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// ChatText is how planned tokens become the text of a chat: one user message of words that are one token each.
type ChatText struct {
	Lead    string   // begins the message. Without a blank in front it may be any number of tokens, always the same
	Words   []string // each with a blank in front, which makes it one token wherever it stands
	Longest int      // bytes of the longest
	Front   int      // tokens ahead of the words: the template's begin and the lead
	Back    int      // tokens behind them: the template's end
}

// ChatRecord says in run.json how far the lengths of prompts can be trusted.
type ChatRecord struct {
	Words          int             `json:"words"`
	OverheadTokens int             `json:"overhead_tokens"` // of template and lead, in every prompt
	TemplateTokens *int            `json:"template_tokens"` // of the template alone; null where an empty message is refused
	CountedBy      string          `json:"counted_by"`      // "tokenize": the server; "assumed": each word counts as one token
	Checked        []checkedPrompt `json:"checked"`         // of the plan, before the run
	Deviation      int             `json:"largest_deviation_tokens"`
	Note           string          `json:"note"`
}

// checkedPrompt is one of the plan's prompts, counted by the server.
type checkedPrompt struct {
	Seq     int64 `json:"seq"`
	Planned int   `json:"planned"`
	Counted int   `json:"counted"`
}

//go:embed words.txt
var commonWords string

const (
	EnoughWords      = 400 // of the common ones; below that the server's own vocabulary is looked through
	fewestWords      = 64  // below that each word counts as one token
	wordsPerQuestion = 500 // words asked for at once
	checkedReach     = 2000
)

// Tokenizer is that of the served model. What it cannot say is nil or empty; an error says that the run was stopped.
type Tokenizer interface {
	Address() string // of the server, as it is shown
	Tokens(ctx context.Context, text string) ([]int64, error)
	ChatTokens(ctx context.Context, content string) ([]int64, error) // of a chat of one user message
	Text(ctx context.Context, ids []int) (string, error)
}

// NewChatPrompts makes the words and the template's length of the server's own tokenizer, and counts some of the plan's
// prompts by it.
func NewChatPrompts(ctx context.Context, t Tokenizer, seed uint64, plan *Plan) (Prompts, *ChatRecord, error) {
	record := &ChatRecord{CountedBy: "tokenize", Checked: []checkedPrompt{}}
	words, err := findWords(ctx, t)
	if err != nil {
		return Prompts{}, nil, err
	}
	if len(words) < fewestWords {
		record.CountedBy = "assumed"
		record.Note = fmt.Sprintf("%s does not count tokens: each word counts as one token, and the chat template as none", t.Address())
		if len(words) > 0 {
			record.Note = fmt.Sprintf("only %d words are one token each at %s: each word counts as one token, and the chat template as none", len(words), t.Address())
		}
		words = strings.Fields(commonWords)
	}
	w := NewChatText(words)
	if record.CountedBy == "tokenize" {
		if err := measureTemplate(ctx, t, w, record); err != nil {
			return Prompts{}, nil, err
		}
	}
	prompts, err := NewPrompts(0, len(w.Words), seed)
	prompts.Text = w
	record.Words, record.OverheadTokens = len(w.Words), w.Front+w.Back
	if err == nil && record.CountedBy == "tokenize" {
		err = checkLengths(ctx, t, prompts, plan, record)
	}
	return prompts, record, err
}

// NewChatText prepares words for prompts: the first one leads each message, without a blank in front.
func NewChatText(words []string) *ChatText {
	w := &ChatText{Lead: words[0], Words: make([]string, len(words))}
	for i, word := range words {
		w.Words[i] = " " + word
		w.Longest = max(w.Longest, len(word)+1)
	}
	return w
}

// findWords are those that are one token each behind a blank: common ones, else what the vocabulary itself holds.
func findWords(ctx context.Context, t Tokenizer) ([]string, error) {
	words, err := singleTokenWords(ctx, t, strings.Fields(commonWords))
	if err != nil || len(words) >= EnoughWords {
		return words, err
	}
	own, err := ownWords(ctx, t)
	if err != nil {
		return nil, err
	}
	more, err := singleTokenWords(ctx, t, own)
	for _, word := range more {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, err
}

// ownWords are the words that a stretch of the server's vocabulary spells.
func ownWords(ctx context.Context, t Tokenizer) ([]string, error) {
	ids := make([]int, 0, DefaultVocabHigh-DefaultVocabLow)
	for id := DefaultVocabLow; id < DefaultVocabHigh; id++ {
		ids = append(ids, id)
	}
	text, err := t.Text(ctx, ids)
	if err != nil || text == "" {
		return nil, err
	}
	var words []string
	seen := map[string]bool{}
	for _, word := range strings.Fields(text) {
		if len(word) > 1 && !seen[word] && !strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words[:min(len(words), 4*wordsPerQuestion)], nil
}

// measureTemplate finds how many tokens the template and the lead are, ahead of the words and behind them: chats of one word
// differ in that word alone. A chat of all words has to agree.
func measureTemplate(ctx context.Context, t Tokenizer, w *ChatText, record *ChatRecord) error {
	var chats [4][]int64
	for i, content := range []string{"", w.Lead + w.Words[1], w.Lead + w.Words[2], w.Lead + strings.Join(w.Words, "")} {
		var err error
		if chats[i], err = t.ChatTokens(ctx, content); err != nil {
			return err
		}
	}
	template, one, other, all := chats[0], chats[1], chats[2], chats[3]
	if template != nil { // some servers refuse an empty message
		n := len(template)
		record.TemplateTokens = &n
	}
	if one == nil || other == nil || all == nil {
		record.Note = fmt.Sprintf("%s does not count the tokens of a chat: the template counts as none", t.Address())
		return nil
	}
	for w.Front < min(len(one), len(other)) && one[w.Front] == other[w.Front] {
		w.Front++
	}
	w.Back = max(0, len(all)-len(w.Words)-w.Front)
	if around := len(one) - 1; around != w.Front+w.Back {
		record.Note = fmt.Sprintf("the template counts %d tokens around one word and %d around %d", around, w.Front+w.Back, len(w.Words))
	}
	return nil
}

// checkLengths counts the shortest, the middle and the longest of the plan's first prompts by the server.
func checkLengths(ctx context.Context, t Tokenizer, prompts Prompts, plan *Plan, record *ChatRecord) error {
	var first []Request
	for req, err := range plan.Requests() {
		if err != nil {
			return err
		}
		if first = append(first, req); len(first) == checkedReach {
			break
		}
	}
	slices.SortStableFunc(first, func(a, b Request) int { return a.InputTokens - b.InputTokens })
	for _, at := range slices.Compact([]int{0, len(first) / 2, len(first) - 1}) {
		req := first[at]
		tokens, err := t.ChatTokens(ctx, string(prompts.AppendText([]byte(prompts.Text.Lead), req)))
		if err != nil {
			return err
		}
		if tokens == nil {
			continue
		}
		record.Checked = append(record.Checked, checkedPrompt{req.Seq, req.InputTokens, len(tokens)})
		if off := len(tokens) - req.InputTokens; max(off, -off) > max(record.Deviation, -record.Deviation) {
			record.Deviation = off
		}
	}
	return nil
}

// singleTokenWords keeps the candidates that are one token behind a blank. They are asked for with a marker between them, a word
// known to be one token, so that the tokens of each can be told apart.
func singleTokenWords(ctx context.Context, t Tokenizer, candidates []string) (words []string, err error) {
	marker, id, err := findMarker(ctx, t, candidates)
	if err != nil || marker == "" {
		return nil, err
	}
	seen := map[int64]bool{id: true}
	for batch := range slices.Chunk(candidates, wordsPerQuestion) {
		var text strings.Builder
		for _, word := range batch {
			text.WriteString(" " + marker + " " + word)
		}
		tokens, err := t.Tokens(ctx, text.String()+" "+marker)
		if err != nil {
			return nil, err
		}
		runs := between(tokens, id)
		if len(runs) != len(batch) { // the marker itself is among them as two runs of nothing; or this is no such tokenizer
			runs = withMarker(runs, batch, marker)
		}
		for i, run := range runs {
			if len(run) == 1 && !seen[run[0]] {
				seen[run[0]] = true
				words = append(words, batch[i])
			}
		}
	}
	return append(words, marker), nil
}

// findMarker is the first of the candidates that is one token wherever it stands.
func findMarker(ctx context.Context, t Tokenizer, candidates []string) (word string, id int64, err error) {
	for _, word := range candidates[:min(len(candidates), 8)] {
		tokens, err := t.Tokens(ctx, strings.Repeat(" "+word, 4))
		if err != nil || tokens == nil {
			return "", 0, err
		}
		// The very first may have company: a begin-of-text token, or a blank of its own.
		if n := len(tokens); n >= 4 && n <= 6 && tokens[n-1] == tokens[n-2] && tokens[n-2] == tokens[n-3] {
			return word, tokens[n-1], nil
		}
	}
	return "", 0, nil
}

// between cuts tokens at each marker; what is ahead of the first one is left out.
func between(tokens []int64, marker int64) (runs [][]int64) {
	begin := -1
	for i, token := range tokens {
		if token != marker {
			continue
		}
		if begin >= 0 {
			runs = append(runs, tokens[begin:i])
		}
		begin = i + 1
	}
	return runs
}

// withMarker puts one empty run in the place of the marker among the candidates, which cuts into two.
func withMarker(runs [][]int64, batch []string, marker string) [][]int64 {
	at := slices.Index(batch, marker)
	if at < 0 || len(runs) != len(batch)+1 {
		return nil
	}
	return slices.Delete(runs, at, at+1)
}
