package userfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrBusy marks the error of a file that another process is adding to.
var ErrBusy = errors.New("another process adds to it")

// Growing is a file that one process at a time adds to: what a later call goes on with.
type Growing struct {
	*os.File
	path string
}

// Grow opens or makes a file and locks it. With a name to put it aside under, a file that holds something is renamed first, and a new
// one is made; where that name is taken, a number makes it another. Nothing is renamed or removed before the lock is held and without
// path being the locked file still: a process that comes later would else take the file of one that is at work. A link is not followed.
func Grow(path, aside string) (*Growing, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
		if errors.Is(err, unix.ELOOP) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: unreadable("a symbolic link, and a file is wanted that this program adds to")}
		}
		if err != nil {
			return nil, err
		}
		g := &Growing{file, path}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: path, Err: unreadable("not a regular file")}
		}
		if err == nil && unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			err = ErrBusy
		}
		if err != nil {
			file.Close()
			return nil, err
		}
		switch isThere := g.isThere(); {
		case isThere && (aside == "" || g.isEmpty()):
			return g, nil
		case isThere:
			err = putAside(path, aside)
			aside = ""
		}
		file.Close() // another process has renamed or removed it, or it is aside now
		if err != nil {
			return nil, err
		}
	}
}

// isThere says whether the file still has its name.
func (g *Growing) isThere() bool {
	own, err := g.Stat()
	there, missing := os.Lstat(g.path)
	return err == nil && missing == nil && os.SameFile(own, there)
}

func (g *Growing) isEmpty() bool {
	info, err := g.Stat()
	return err == nil && info.Size() == 0
}

// Close gives the file up; one that nothing was written to is removed.
func (g *Growing) Close() error {
	if g.isEmpty() && g.isThere() {
		os.Remove(g.path)
	}
	return g.File.Close()
}

// putAside renames a file to a name that nothing has. The name is taken by making an empty file, since a rename replaces what is there.
func putAside(path, aside string) error {
	extension := filepath.Ext(aside)
	for n, name := 2, aside; ; n++ {
		taken, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(aside, extension), n, extension)
			continue
		}
		if err != nil {
			return err
		}
		taken.Close()
		if err := os.Rename(path, name); err != nil {
			os.Remove(name)
			return err
		}
		return nil
	}
}
