package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"tidemark/internal/escape"
)

// Redraw replaces the line with a new one: with the first of these that fits as a whole, otherwise with what fits of the last.
func Redraw(w io.Writer, forms ...[]string) {
	// A line that wraps cannot be rewritten.
	fmt.Fprint(redrawing(w), "\r\x1b[K"+escape.Controls(Fitting(Width(w)-1, forms...), ""))
}

// Fitting joins the fields of the first form that fits. If none does, it joins as many complete fields of the last as fit, because a truncated
// number is a wrong number. The first fields matter most.
func Fitting(width int, forms ...[]string) string {
	line := ""
	for _, fields := range forms {
		if whole := strings.Join(fields, "  "); utf8.RuneCountInString(whole) <= width {
			return whole
		}
	}
	for i, field := range forms[len(forms)-1] {
		if i > 0 {
			field = "  " + field
		}
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(field) > width {
			break
		}
		line += field
	}
	return line
}

// Width is the width of the terminal that w is, else of a usual one.
func Width(w io.Writer) int {
	if size := terminalSize(w); size != nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}

// Is reports whether a person looks at w.
func Is(w io.Writer) bool { return terminalSize(w) != nil }

func terminalSize(w io.Writer) *unix.Winsize {
	if r, is := w.(raw); is {
		w = r.screen
	}
	if s, is := w.(*screen); is {
		w = s.to
	}
	file, isFile := w.(*os.File)
	if !isFile {
		return nil
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	return size
}

// unitAfterNumber finds the space between a number and its unit, at which no line breaks.
var unitAfterNumber = regexp.MustCompile(`\d (?:(?:ms|s|min|h|GB|MB|GiB|W)\b|%)`)

// Words are the words of a text; a number and its unit are one.
func Words(text string) []string {
	const joined = "\x1f" // no space
	words := strings.Fields(unitAfterNumber.ReplaceAllStringFunc(text, func(found string) string { return strings.Replace(found, " ", joined, 1) }))
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], joined, " ")
	}
	return words
}

// Wrapped breaks a text into lines of at most so many columns, between words. A longer word has a line of its own.
func Wrapped(text string, columns int) []string {
	lines := []string{""}
	for _, word := range Words(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) > columns:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}
