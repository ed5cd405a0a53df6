// Command makeempty writes a packed empty warehouse into internal/store/warehouse/empty,
// for the program to contain. It is run by make, in the root of the repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/s2"

	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

const folder = "internal/store/warehouse/empty"

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "makeempty:", err)
		os.Exit(1)
	}
}

func write() error {
	old, err := filepath.Glob(filepath.Join(folder, "*.s2")) // of other SQL
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	for ending, open := range map[string]func(context.Context, string) (*warehouse.Warehouse, error){
		".duckdb.s2": func(ctx context.Context, path string) (*warehouse.Warehouse, error) {
			return warehouse.Open(ctx, path, warehouse.ReadWrite)
		},
		".catalogue.s2": warehouse.MakeCatalogue,
	} {
		content, err := copied(open)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, queries.Stamp()+ending)
		temporary := path + ".tmp"
		if err := os.WriteFile(temporary, s2.EncodeBest(nil, content), 0o644); err != nil {
			return err
		}
		if err := os.Rename(temporary, path); err != nil {
			return err
		}
	}
	return nil
}

// copied is the content of a file that has been copied once: the first one is
// a quarter larger, because of the tables that stood in for views while they were made.
func copied(open func(context.Context, string) (*warehouse.Warehouse, error)) ([]byte, error) {
	folder, err := os.MkdirTemp("", "makeempty")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	w, err := open(context.Background(), filepath.Join(folder, "first.duckdb"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "copy.duckdb")
	_, err = w.DB().Exec(fmt.Sprintf("attach '%s' as packed %s; copy from database first to packed; detach packed", path, warehouse.Format))
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
