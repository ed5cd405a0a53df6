package userfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tidemark/internal/hint"
)

// MayReplace refuses a name that leads to something else than a file: a device, a pipe, a folder. A rename would take its place.
func MayReplace(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return nil // a name that is not there, or a link to nowhere, which is replaced
	case info.IsDir():
		return hint.Errorf("%s is a folder", path).Hint("name a file in it")
	}
	return hint.Errorf("%s is no file, and is not replaced by one", path).Hint("name a file, or - for stdout")
}

// Whole writes a file that is complete or absent: it writes under a random name in the same folder and then renames. It replaces a link and
// does not follow it. It refuses a device, a pipe and a folder. The umask decides who may read the file.
func Whole(path string, write func(io.Writer) error) error {
	if err := MayReplace(path); err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%s.new", filepath.Base(path), rand.Text()))
	file, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(beside)
	if err := errors.Join(write(file), file.Close()); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// WholeBytes is Whole of a content.
func WholeBytes(path string, content []byte) error {
	return Whole(path, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
}
