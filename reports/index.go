package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tidemark/internal/show"
	"tidemark/reports/style"
)

// Page is a page of a folder, by what stands in it.
type Page struct {
	File, Title string
	At          time.Time // the file was written
}

// headBytes hold a page's title: the stylesheet comes behind it.
const headBytes = 64 << 10

var titleOf = regexp.MustCompile(`(?s)<title>(.*?)</title>`)

// PagesIn are the pages of a folder, the newest first.
func PagesIn(folder string) (found []Page, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".html" || entry.Name() == "index.html" || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		head, err := headOf(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		page := Page{File: entry.Name(), Title: entry.Name(), At: info.ModTime()}
		if title := titleOf.FindSubmatch(head); title != nil {
			page.Title = cmp.Or(html.UnescapeString(string(bytes.TrimSpace(title[1]))), page.Title)
		}
		found = append(found, page)
	}
	slices.SortFunc(found, func(a, b Page) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.File, b.File)) })
	return found, nil
}

func headOf(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, headBytes))
}

// indexMark tells an index that is ours, and may be replaced, from a page that is not.
const indexMark = `<meta name="generator" content="tidemark report --index">`

// IsIndex says that a file is an index that was written here.
func IsIndex(path string) bool {
	head, err := headOf(path)
	return err == nil && bytes.Contains(head, []byte(indexMark))
}

var indexPage = template.Must(template.New("index").Funcs(template.FuncMap{"instant": show.Instant}).Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
` + indexMark + `
<title>Reports</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>Reports</h1>
<p>{{len .Pages}} pages, the newest first.</p>
<ul>
{{range .Pages}}<li><a href="{{.Href}}">{{.Title}}</a>, {{instant .At.UTC}}</li>
{{end}}</ul>
</main>
</body>
</html>
`))

// Href is the page's address beside the index. A name with a colon in it must not be read as a scheme.
func (p Page) Href() string { return "./" + p.File }

// WriteIndex writes the list of pages.
func WriteIndex(w io.Writer, pages []Page) error {
	if err := indexPage.Execute(w, map[string]any{"Style": template.CSS(style.Sheet), "Pages": pages}); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}
