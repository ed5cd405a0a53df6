//go:build unix

package userfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// A device and a pipe without a writer were waited for without end.
func TestNothingIsWaitedForWithoutEnd(t *testing.T) {
	if _, err := ReadAll("/dev/zero"); err == nil || err.Error() != "open /dev/zero: a device, not a file" {
		t.Errorf("/dev/zero: got %v", err)
	}
	if _, err := ReadAll("no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	if text, err := ReadAll(path); err != nil || len(text) > 0 {
		t.Errorf("a pipe without a writer: got %q, %v; want nothing", text, err)
	}
	reader := must.Get(open(path, 20*time.Millisecond))(t)
	defer reader.Close()
	writer := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer writer.Close()
	io.WriteString(writer, "some")
	if text, err := io.ReadAll(reader); string(text) != "some" || err == nil || !strings.Contains(err.Error(), "a pipe that gave nothing for 20ms") {
		t.Errorf("a writer that falls silent: got %q, %v", text, err)
	}
}

// A pipe with a writer, as the shell makes of <(command), is read to its end.
func TestAPipeWithAWriterIsAFile(t *testing.T) {
	from, to, err := os.Pipe()
	must.Do(t, err)
	defer from.Close()
	go func() {
		io.WriteString(to, "content")
		to.Close()
	}()
	text, err := ReadAll("/dev/fd/" + strconv.Itoa(int(from.Fd())))
	if err != nil || string(text) != "content" {
		t.Errorf("got %q, %v", text, err)
	}
}
