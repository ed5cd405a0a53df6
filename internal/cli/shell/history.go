package shell

import (
	"os"
	"path/filepath"
	"strings"

	"tidemark/queries"
)

// mostRemembered is how many statements the arrow keys reach.
const mostRemembered = 1000

// HistoryFile is where statements are kept: $TIDEMARK_HISTORY, else in the user's state folder. Empty: nowhere.
func HistoryFile() string {
	if path, isSet := os.LookupEnv("TIDEMARK_HISTORY"); isSet {
		return path
	}
	folder := os.Getenv("XDG_STATE_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(folder, "tidemark", "history")
}

// history is what the arrow keys bring back: whole statements, each as one line, the latest last. It is the History of a term.Terminal.
type history struct {
	path    string // empty: not kept
	entries []string
}

// openHistory reads what earlier sessions left. A file that cannot be read is an empty one: history is a convenience.
func openHistory(path string) *history {
	h := &history{path: path}
	if path == "" {
		return h
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	for line := range strings.Lines(string(text)) {
		h.entries = append(h.entries, strings.TrimRight(line, "\r\n"))
	}
	h.entries = h.entries[max(0, len(h.entries)-mostRemembered):]
	return h
}

// remember keeps a statement. Its comments go, because on one line they would hide what follows them.
func (h *history) remember(statement string) {
	entry := strings.Join(strings.Fields(queries.WithoutComments(statement)), " ")
	if strings.ContainsAny(statement, "'\"") && !strings.Contains(strings.TrimSpace(statement), "\n") {
		entry = strings.TrimSpace(statement) // spaces inside quotes matter
	}
	if entry == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	file, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	_, _ = file.WriteString(entry + "\n")
}

// Add is called for each line; remember takes whole statements instead.
func (h *history) Add(string) {}

func (h *history) Len() int { return len(h.entries) }

func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }
