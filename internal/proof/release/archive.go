package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive, or a folder where it has no content.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// tarOf is an archive of nothing but names, modes and contents: all is root's, and of one time.
func tarOf(entries []entry, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.content)), ModTime: date, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
			if e.mode&fs.ModeSticky != 0 {
				header.Mode |= 0o1000
			}
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func zipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// installed are the files of a release by where a system keeps them.
func (r *release) installed(arch string) (entries []entry, err error) {
	for _, file := range []struct {
		from, to string
		mode     fs.FileMode
	}{
		{r.binary(arch), "usr/bin/tidemark", 0o755},
		{"LICENSE", "usr/share/doc/tidemark/LICENSE", 0o644},
		{r.path("THIRD_PARTY.txt"), "usr/share/doc/tidemark/THIRD_PARTY.txt", 0o644},
		{r.path("tidemark.1"), "usr/share/man/man1/tidemark.1", 0o644},
		{r.path("tidemark.bash"), "usr/share/bash-completion/completions/tidemark", 0o644},
		{r.path("_tidemark"), "usr/share/zsh/vendor-completions/_tidemark", 0o644},
		{r.path("tidemark.fish"), "usr/share/fish/vendor_completions.d/tidemark.fish", 0o644},
		{"docs/tidemark-rules.yaml", "usr/share/doc/tidemark/tidemark-rules.yaml", 0o644},
	} {
		content, err := os.ReadFile(file.from)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{file.to, file.mode, content})
	}
	return entries, nil
}

// archive is for those who install by hand: the same files in one folder.
func (r *release) archive(arch string) error {
	installed, err := r.installed(arch)
	if err != nil {
		return err
	}
	folder := strings.TrimSuffix(r.name(arch, ""), "")
	entries := []entry{{name: folder + "/", mode: 0o755}}
	for _, e := range installed {
		name := strings.TrimPrefix(strings.TrimPrefix(e.name, "usr/share/"), "usr/bin/")
		if strings.HasPrefix(name, "doc/tidemark/") {
			name = filepath.Base(name)
		}
		entries = append(entries, entry{folder + "/" + name, e.mode, e.content})
	}
	return r.writeArchive(r.name(arch, ".tar.gz"), entries)
}

// source is the tree as git knows it, and the packed empty warehouse.
func (r *release) source() error {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return err
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	packed, err := filepath.Glob("internal/store/warehouse/empty/*.s2")
	if err != nil {
		return err
	}
	names = append(names, packed...)
	slices.Sort(names)
	folder := "tidemark-" + r.version + "/"
	entries := []entry{{name: folder, mode: 0o755}}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry{folder + name, 0o644 | info.Mode()&0o111, content})
	}
	return r.writeArchive("tidemark_"+r.version+"_source.tar.gz", entries)
}

func (r *release) writeArchive(name string, entries []entry) error {
	content, err := tarOf(entries, r.date)
	if err != nil {
		return err
	}
	if content, err = zipped(content); err != nil {
		return err
	}
	return os.WriteFile(r.path(name), content, 0o644)
}
