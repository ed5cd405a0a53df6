//go:build peers

package peers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
)

// writeTokenizer makes the folder that the peers take for a model's: a byte-level
// tokenizer whose words are the server's own (a blank and four letters each), so that
// text is as many tokens to them as to the server. Nothing is fetched.
func writeTokenizer(t *testing.T, dir string) {
	t.Helper()
	documents := map[string]any{
		"tokenizer.json":        tokenizer(),
		"tokenizer_config.json": tokenizerConfig,
		"special_tokens_map.json": map[string]string{
			"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": "<|endoftext|>",
		},
		"config.json": map[string]any{
			"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "vocab_size": vocabulary,
			"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 4,
			"num_key_value_heads": 2, "max_position_embeddings": 1 << 20, "bos_token_id": 0, "eos_token_id": 0,
		},
	}
	must.Do(t, os.MkdirAll(dir, 0o755))
	for name, document := range documents {
		text := must.Get(json.Marshal(document))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
}

var tokenizerConfig = map[string]any{
	"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1 << 20, "clean_up_tokenization_spaces": false,
	"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
	"chat_template": "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
}

// tokenizer follows the server's ids: three special ones, 256 bytes, then words
// in base 26. Words are found whole; there is nothing to merge.
func tokenizer() map[string]any {
	vocab := map[string]int{}
	special := []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
	var added []map[string]any
	for id, text := range special {
		vocab[text] = id
		added = append(added, map[string]any{"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	for b, r := range byteLetters() {
		vocab[string(r)] = len(special) + b
	}
	for n := range vocabulary - len(special) - 256 {
		word := []rune{'\u0120', 'a', 'a', 'a', 'a'} // the first is how byte-level tokenizers print a blank
		for i, rest := len(word)-1, n; i > 0; i, rest = i-1, rest/26 {
			word[i] += rune(rest % 26)
		}
		vocab[string(word)] = len(special) + 256 + n
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	words := map[string]any{"type": "Split", "pattern": map[string]string{"Regex": " [a-z]{4}"}, "behavior": "Isolated", "invert": false}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{words, bytes}}, "post_processor": nil, "decoder": bytes,
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": vocab, "merges": []string{}},
	}
}

// hubName is the tokenizer's name in a Hugging Face cache, for peers that take no
// folder.
const hubName = "tidemark/tiny"

// writeHub makes that cache.
func writeHub(t *testing.T, hub string) {
	t.Helper()
	const commit = "0000000000000000000000000000000000000001"
	repository := filepath.Join(hub, "hub", "models--tidemark--tiny")
	writeTokenizer(t, filepath.Join(repository, "snapshots", commit))
	refs := filepath.Join(repository, "refs")
	must.Do(t, os.MkdirAll(refs, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(refs, "main"), []byte(commit), 0o644))
}

// byteLetters is the letter that byte-level tokenizers write for each byte.
func byteLetters() (letters [256]rune) {
	next := rune(256)
	for b := range letters {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			letters[b] = rune(b)
			continue
		}
		letters[b] = next
		next++
	}
	return letters
}
