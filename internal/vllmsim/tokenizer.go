package vllmsim

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The tokenizer is trivial and reversible. Ids 0 to 2 are special, 3 to 258 are
// the 256 bytes, and every id from 259 on is the five bytes " wxyz": a space
// and four lower-case letters that write id-259 in base 26. One scan turns text
// into ids: a space with four lower-case letters that name an id becomes that
// id, a special id spelt out becomes that id, and any other byte becomes its
// byte id. So text -> ids -> text is exact for any text, and ids -> text -> ids
// for ids from 259 on.
const (
	endOfText = 0
	imStart   = 1
	imEnd     = 2
	firstByte = 3
	firstWord = firstByte + 256
	wordBytes = 5
)

var specialText = [...]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// tokenize appends the ids of text.
func tokenize(ids []int32, text string, vocab int) []int32 {
	for i := 0; i < len(text); {
		if id, ok := wordAt(text[i:], vocab); ok {
			ids = append(ids, id)
			i += wordBytes
			continue
		}
		if text[i] == '<' {
			if id, n := specialAt(text[i:]); n > 0 {
				ids = append(ids, id)
				i += n
				continue
			}
		}
		ids = append(ids, firstByte+int32(text[i]))
		i++
	}
	return ids
}

// specialAt finds a special id that is spelt out. vLLM's tokenizers accept
// these in prompts.
func specialAt(s string) (id int32, length int) {
	for id, text := range specialText {
		if strings.HasPrefix(s, text) {
			return int32(id), len(text)
		}
	}
	return 0, 0
}

func wordAt(s string, vocab int) (int32, bool) {
	if len(s) < wordBytes || s[0] != ' ' {
		return 0, false
	}
	n := 0
	for _, b := range []byte(s[1:wordBytes]) {
		if b < 'a' || b > 'z' {
			return 0, false
		}
		n = n*26 + int(b-'a')
	}
	return firstWord + int32(n), firstWord+n < vocab
}

// appendText appends the text of an id. Special ids have none.
func appendText(text []byte, id int32) []byte {
	switch {
	case id >= firstWord:
		n := id - firstWord
		return append(text, ' ', 'a'+byte(n/17576%26), 'a'+byte(n/676%26), 'a'+byte(n/26%26), 'a'+byte(n%26))
	case id >= firstByte:
		return append(text, byte(id-firstByte))
	}
	return text
}

// detokenize is the text of ids, with special ids spelt out.
func detokenize(ids []int32) string {
	var text []byte
	for _, id := range ids {
		if id >= 0 && id < firstByte {
			text = append(text, specialText[id]...)
			continue
		}
		text = appendText(text, id)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// tokenString is how byte-level tokenizers print one token (GPT-2's table):
// printable Latin-1 characters stand for themselves, every other byte for a
// character from U+0100 on.
func tokenString(id int32) string {
	if id < firstByte {
		return specialText[id]
	}
	var out strings.Builder
	for _, b := range appendText(nil, id) {
		out.WriteRune(byteRunes[b])
	}
	return out.String()
}

// byteRunes is the byte-to-character table of GPT-2's tokenizer.
var byteRunes = func() (runes [256]rune) {
	next := rune(256)
	for b := range runes {
		printable := b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae
		if printable {
			runes[b] = rune(b)
			continue
		}
		runes[b] = next
		next++
	}
	return runes
}()

// appendWhole appends text's complete characters to out and returns the bytes
// that may still become one: vLLM too holds a character back until its last
// byte. At the end of an output nothing is held back.
func appendWhole(out, text []byte, isLast bool) (whole, held []byte) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			if !isLast && !utf8.FullRune(text) {
				return out, text
			}
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out, nil
}

// appendJSONString quotes s as vLLM does: control characters, quotes and
// backslashes are escaped, everything else is left as it is.
func appendJSONString[T string | []byte](out []byte, s T) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b == '\n':
			out = append(out, `\n`...)
		case b == '\t':
			out = append(out, `\t`...)
		case b == '\r':
			out = append(out, `\r`...)
		case b < 0x20:
			const hex = "0123456789abcdef"
			out = append(out, `\u00`...)
			out = append(out, hex[b>>4], hex[b&15])
		default:
			out = append(out, b)
		}
	}
	return append(out, '"')
}

func appendIDs(out []byte, ids []int32) []byte {
	out = append(out, '[')
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(id), 10)
	}
	return append(out, ']')
}
