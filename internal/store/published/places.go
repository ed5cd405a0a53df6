//go:build duckdb_arrow

package published

// Where a warehouse is or was published. The folder beside it needs no note; others, and buckets, are named in
// <warehouse>.places, so that a purge finds them whatever --publish says that day.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/store/objects"
)

func placesFile(warehouse string) string { return warehouse + ".places" }

// readNoted are the entries of <warehouse>.places.
func readNoted(warehouse string) (noted []string, err error) {
	text, err := os.ReadFile(placesFile(warehouse))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &noted)
	}
	if err != nil {
		return nil, hint.Errorf("%s, which names the folders where the warehouse is published: %w", placesFile(warehouse), err).
			Hint("write it anew: a JSON list of folders, as in [\"/srv/published\"]; or remove it, and those folders")
	}
	return noted, nil
}

func writeNoted(warehouse string, noted []string) error {
	text, err := json.Marshal(noted)
	if err != nil {
		return err
	}
	return replace(placesFile(warehouse), 0o600, func(file *os.File) error {
		_, err := file.Write(append(text, '\n'))
		return err
	})
}

// places are the folders of a warehouse, absolute: the one beside it, and those that it remembers.
func places(warehouse string) (folders []string, err error) {
	if warehouse, err = resolved(warehouse); err != nil {
		return nil, err
	}
	folders = []string{Folder(warehouse, "")}
	noted, err := readNoted(warehouse)
	for _, folder := range noted {
		if objects.IsAddress(folder) {
			continue
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(filepath.Dir(warehouse), folder)
		}
		folders = append(folders, folder)
	}
	return folders, err
}

// bucketPlace is a bucket where a warehouse is published. The publisher is a random number, by which the bucket's
// manifest says whose it is: a path would mean nothing on another machine, and tell strangers about this one.
type bucketPlace struct {
	at        objects.Address
	publisher string
}

// publisherMark divides an entry s3://bucket/prefix?endpoint=URL#PUBLISHER.
const publisherMark = "#"

// buckets are those that a warehouse remembers.
func buckets(warehouse string) (list []bucketPlace, err error) {
	if warehouse, err = resolved(warehouse); err != nil {
		return nil, err
	}
	noted, err := readNoted(warehouse)
	for _, entry := range noted {
		if !objects.IsAddress(entry) {
			continue
		}
		address, publisher, _ := strings.Cut(entry, publisherMark)
		at, err := objects.ParseAddress(address)
		if err != nil {
			return list, hint.Errorf("%s: %w", placesFile(warehouse), err).Hint("correct the entry, or remove it and what is published there")
		}
		list = append(list, bucketPlace{at, publisher})
	}
	return list, err
}

// rememberBucket notes a bucket before anything is published there, and returns the warehouse's number as its publisher. One that does
// not answer, such as of a server that is mistyped, is not noted: every purge would have to ask it.
func rememberBucket(ctx context.Context, store *objects.Store, warehouse string, at objects.Address) (publisher string, err error) {
	if warehouse, err = resolved(warehouse); err != nil {
		return "", err
	}
	at = at.WithEndpoint()
	known, err := buckets(warehouse)
	if err != nil {
		return "", err
	}
	for _, b := range known {
		if b.at == at && b.publisher != "" {
			return b.publisher, nil
		}
	}
	if _, _, err := readBucket(ctx, store, at, ""); err != nil && !errors.Is(err, ErrDamaged) {
		return "", err
	}
	noted, err := readNoted(warehouse)
	if err != nil {
		return "", err
	}
	publisher = rand.Text()
	return publisher, writeNoted(warehouse, append(noted, at.Full()+publisherMark+publisher))
}

// isPlace says whether a folder is one of the warehouse's.
func isPlace(warehouse, folder string) bool {
	folder, err := resolved(folder)
	known, placesErr := places(warehouse)
	return err == nil && placesErr == nil && slices.Contains(known, folder)
}

// remember notes a folder before anything is published there.
func remember(warehouse, folder string) error {
	warehouse, err := resolved(warehouse)
	if err != nil {
		return err
	}
	known, err := places(warehouse)
	if err != nil {
		return err
	}
	if folder, err = resolved(folder); err != nil || slices.Contains(known, folder) {
		return err
	}
	noted, err := readNoted(warehouse)
	if err != nil {
		return err
	}
	if within, err := filepath.Rel(filepath.Dir(warehouse), folder); err == nil && filepath.IsLocal(within) {
		folder = within // both move together
	}
	return writeNoted(warehouse, append(noted, folder))
}

// Withdraw removes all that is published of a warehouse, wherever that is: beside it, where it remembers, and in the
// folder that is asked for now. It returns the folders that it emptied, and an error that names those that may still have rows.
func Withdraw(warehouse, asked string) (emptied []string, err error) {
	folders, placesErr := places(warehouse)
	errs := []error{placesErr}
	if real, err := resolved(asked); err == nil && asked != "" && asked != Off && !slices.Contains(folders, real) {
		folders = append(folders, real)
	}
	for _, folder := range folders {
		is, err := withdraw(warehouse, folder)
		if err != nil {
			errs = append(errs, hint.Errorf("%s may still have rows that are gone from the warehouse: %w", folder, err).
				Hint("remove the folder yourself: rm -r %q", folder))
		} else if is {
			emptied = append(emptied, folder)
		}
	}
	return emptied, errors.Join(errs...)
}

// withdraw empties one folder, if it is the warehouse's and anything is published there.
func withdraw(warehouse, folder string) (is bool, err error) {
	if entries, err := os.ReadDir(folder); errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	} else if err != nil {
		return false, err
	}
	m, err := ReadManifest(folder)
	isOurs := isPlace(warehouse, folder) || m.Warehouse != ""
	if err != nil && !isOurs {
		return false, err
	}
	if _, isOther := m.otherWarehouse(folder, warehouse); m.IsOff || isOther || !isOurs {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(folder, ".lock")); errors.Is(err, fs.ErrNotExist) && m.Warehouse == "" {
		return false, nil // somebody else's folder
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(warehouse); err == nil {
		mode = info.Mode().Perm()
	}
	release, err := prepare(folder, warehouse, mode)
	if err != nil {
		return false, err
	}
	defer release()
	if err := Clean(folder); err != nil {
		return false, err
	}
	path, err := relativeTo(folder, warehouse)
	if err != nil {
		return false, err
	}
	return true, Manifest{Warehouse: path}.write(folder, mode) // it is published here again
}

// Clean removes all that is published in the folder, also what killed processes left there. Files of others stay. The manifest goes first: one
// that is killed in between leaves nothing that names what is gone.
func Clean(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	errs := []error{removeIfThere(manifestFile(folder)), syncFolder(folder)}
	for _, entry := range entries {
		if isOurs(folder, entry.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return errors.Join(append(errs, syncFolder(folder))...)
}

func isOurs(folder, name string) bool {
	switch name {
	case "latest.published", "spare.published": // older versions published what they read, snapshots too
		_, err := os.Stat(filepath.Join(folder, name, ".lock"))
		return err == nil
	case "lake", "manifest.json", "manifest.json.tmp": // the last is of older versions
		return true
	}
	// .serve-PID-TIME is the second name that "tidemark serve" gives a snapshot for a moment.
	for _, ours := range []string{"latest.duckdb", "spare.duckdb", ".serve-", "manifest.json" + temporaryMark} {
		if strings.HasPrefix(name, ours) {
			return true
		}
	}
	return false
}
