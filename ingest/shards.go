package ingest

import (
	"fmt"
	"os"

	"tidemark/ingest/runs"
)

// mergeShards puts one candidate in place of the folders of a run's shards: a folder of the whole run, in a temporary place
// until drop is called. A shard alone is no run: its error says what is missing.
func mergeShards(files []candidate) (merged []candidate, drop func(), errs []error) {
	byRun, order, all := map[string][]*runs.Shard{}, []string{}, []*runs.Shard{}
	for _, file := range files {
		var shard *runs.Shard
		if file.isRun {
			shard = runs.OpenShard(file.path)
		}
		if shard == nil {
			merged = append(merged, file)
			continue
		}
		if byRun[shard.RunID] == nil {
			order = append(order, shard.RunID)
		}
		byRun[shard.RunID], all = append(byRun[shard.RunID], shard), append(all, shard)
	}
	var temporary []string
	for _, run := range order {
		folder, notes, err := mergeRun(byRun[run], all)
		if folder != "" {
			temporary = append(temporary, folder)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ingest: %w", err))
			continue
		}
		merged = append(merged, candidate{path: byRun[run][0].Folder, merged: folder, notes: notes, isRun: true})
	}
	return merged, func() {
		for _, folder := range temporary {
			os.RemoveAll(folder)
		}
	}, errs
}

func mergeRun(shards, all []*runs.Shard) (folder string, notes []string, err error) {
	if err := runs.CheckShards(shards, all); err != nil {
		return "", nil, err
	}
	if folder, err = os.MkdirTemp("", "tidemark-shards-"); err != nil {
		return "", nil, err
	}
	merged, err := runs.Merge(shards, folder)
	return folder, append([]string{fmt.Sprintf("%d shards are one run", len(shards))}, merged...), err
}
