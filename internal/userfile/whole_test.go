package userfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"tidemark/internal/proof/must"
)

func TestWholeReplacesFilesAlone(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "page.html")
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, text := range []string{"one", "two"} {
		must.Do(t, WholeBytes(path, []byte(text)))
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %v under a umask of 077 (%v)", info.Mode(), err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("it holds %q, want %q", got, text)
		}
	}
	failed := errors.New("the disk is full")
	if err := Whole(path, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "two" {
		t.Errorf("after a failure it holds %q, want what it held", got)
	}

	// A link is replaced, not followed.
	victim, link := filepath.Join(folder, "victim"), filepath.Join(folder, "link")
	must.Do(t, errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, link)))
	must.Do(t, WholeBytes(link, []byte("page")))
	if got, _ := os.ReadFile(victim); string(got) != "mine" {
		t.Errorf("what a link led to holds %q", got)
	}

	// A pipe stands for every device.
	pipe, toPipe := filepath.Join(folder, "pipe"), filepath.Join(folder, "to-pipe")
	must.Do(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, toPipe)))
	for _, name := range []string{pipe, toPipe, folder} {
		must.Fail(t, WholeBytes(name, []byte("page")))
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v now (%v)", info, err)
	}
	left, _ := filepath.Glob(filepath.Join(folder, ".*"))
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// What is written to one file at the same time leaves one of the contents whole, and no temporary file.
func TestWritersOfOneFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.html")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := WholeBytes(path, bytes.Repeat([]byte{'a' + byte(i)}, 1<<20+i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	content := must.Get(os.ReadFile(path))(t)
	if n := len(content); n < 1<<20 || n != 1<<20+int(content[0]-'a') || bytes.Count(content, content[:1]) != n {
		t.Errorf("%d bytes that begin with %q are no one's content", n, content[0])
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".chat*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
