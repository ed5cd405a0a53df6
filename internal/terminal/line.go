package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"tidemark/internal/escape"
)

// Redraw replaces the line with a new one.
func Redraw(w io.Writer, fields []string) {
	// A line that wraps cannot be rewritten.
	fmt.Fprint(redrawing(w), "\r\x1b[K"+escape.Controls(Fitting(fields, Width(w)-1), ""))
}

// Fitting joins as many complete fields as fit, because a truncated number is a wrong
// number. The first fields matter most.
func Fitting(fields []string, width int) string {
	line := ""
	for i, field := range fields {
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

// Wrapped breaks a text into lines of at most so many columns, between words. A longer word has a line of its own.
func Wrapped(text string, columns int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) > columns:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}
