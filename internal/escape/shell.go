package escape

import "strings"

// Shell writes a word so that a POSIX shell reads it as that word: as it is where nothing in it means anything to a shell, else in single
// quotes. A printed command is pasted; a name in it must not become another command.
func Shell(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellWords are several words of one command.
func ShellWords(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, Shell(word))
	}
	return strings.Join(all, " ")
}
