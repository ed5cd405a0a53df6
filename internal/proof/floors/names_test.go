package floors

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

var (
	comment    = regexp.MustCompile(`(?:^|\s)(?://|--) (.*)`)
	namedFile  = regexp.MustCompile(`(?:^|[^\w/.*$<{-])((?:[\w-]+/)*[\w-]+\.(?:go|sql|txtar))(?:[^\w-]|$)`)
	namedRoom  = regexp.MustCompile(`(?:^|[^\w./-])((?:internal|analysis|replay|ingest|reports|queries|cmd)/[\w/]*\w)`)
	ofATestDir = regexp.MustCompile(`^(?:setup|query)\.sql$`) // parts of a .txtar
)

// A comment that names a file or a room of this repository names one that is there: files move, and comments stay behind.
func TestCommentsNameFilesThatExist(t *testing.T) {
	files, rooms := map[string]bool{}, map[string]bool{}
	var sources []string
	err := filepath.WalkDir("../../..", func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at = filepath.ToSlash(strings.TrimPrefix(at, "../../../"))
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			rooms[at] = true
			return nil
		}
		for end := at; ; _, end, _ = strings.Cut(end, "/") {
			files[end] = true
			if !strings.Contains(end, "/") {
				break
			}
		}
		if ext := path.Ext(at); (ext == ".go" || ext == ".sql") && !strings.HasPrefix(at, "fixtures/") {
			sources = append(sources, at)
		}
		return nil
	})
	if err != nil || len(sources) < 500 {
		t.Fatalf("%d sources: %v", len(sources), err)
	}
	for _, source := range sources {
		text := must.Get(os.ReadFile("../../../" + source))(t)
		for i, line := range strings.Split(string(text), "\n") {
			said := comment.FindStringSubmatch(line)
			if said == nil {
				continue
			}
			for _, name := range namedFile.FindAllStringSubmatch(said[1], -1) {
				if !files[name[1]] && !ofATestDir.MatchString(name[1]) {
					t.Errorf("%s:%d: a comment names %s, which is not there", source, i+1, name[1])
				}
			}
			for _, name := range namedRoom.FindAllStringSubmatch(said[1], -1) {
				if !rooms[name[1]] && !files[name[1]] && !files[name[1]+".go"] && !strings.Contains(said[1], name[1]+".") && !strings.Contains(said[1], name[1]+"*") {
					t.Errorf("%s:%d: a comment names %s, which is not there", source, i+1, name[1])
				}
			}
		}
	}
}
