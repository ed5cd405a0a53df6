// Package userfile opens the files that a user names, to read them or to add to them. Such a name may lead to something that is not a file: a device
// that never ends, or a pipe that nobody writes to. Open refuses the first and does not wait for the second, so that
// no verb hangs without a message. A pipe that somebody writes to, such as the shell's <(command), is read like a
// file. Grow gives a file to one process at a time.
package userfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// silence is how long a pipe may deliver nothing.
const silence = time.Minute

// mostBytes is the limit for a file that is read as a whole.
const mostBytes = 64 << 20

// ErrUnreadable marks the error of a name that leads to something that cannot be read as a file.
var ErrUnreadable = errors.New("cannot be read as a file")

type unreadable string

func (u unreadable) Error() string      { return string(u) }
func (unreadable) Is(target error) bool { return target == ErrUnreadable }

// File is an open file.
type File struct {
	*os.File
	silence time.Duration // 0 where a read cannot wait
}

// Open opens a named file for reading. Its errors are *fs.PathError, as those of os.Open.
func Open(path string) (*File, error) { return open(path, silence) }

func open(path string, silence time.Duration) (*File, error) {
	// Without O_NONBLOCK, opening a pipe would wait for its writer. It changes nothing for a file on disk.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir(): // reading a folder gives a clear error of its own
		return &File{File: file}, nil
	case mode&fs.ModeNamedPipe != 0:
		return &File{file, silence}, nil
	}
	file.Close()
	return nil, &fs.PathError{Op: "open", Path: path, Err: unreadable("a device, not a file")}
}

// Read gives up on a pipe that stays silent.
func (f *File) Read(p []byte) (int, error) {
	if f.silence > 0 {
		f.SetReadDeadline(time.Now().Add(f.silence)) // pipes support deadlines, so this cannot fail
	}
	n, err := f.File.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: unreadable(fmt.Sprintf("a pipe that gave nothing for %s", f.silence))}
	}
	return n, err
}

// WriteTo hides os.File's, which would bypass Read and its deadline.
func (f *File) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{f}) }

// Sum is the fingerprint (SHA-256) of a file as it lies on disk, and its size.
func Sum(path string) (sum string, size int64, err error) {
	file, err := Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// ReadAll is the content of a named file that is short enough to hold in memory.
func ReadAll(path string) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = &fs.PathError{Op: "read", Path: path, Err: unreadable(fmt.Sprintf("more than %d MB", mostBytes>>20))}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
