package results

import (
	"encoding/json"
	"path"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// AIPerfPhases reads phase_manifest.json, the index of a run in several phases: one
// point for each phase that was measured, with the figures of the export that it
// names. Warm-up is left out.
//
// The traps: the export at the root covers all measured phases together, so it is no
// phase; a phase that was cancelled has figures of a part; and a phase's own export
// belongs to this file, so that it comes in once.
var AIPerfPhases = read.Format{
	Name: "aiperf-phases",
	Sees: func(h *read.Head) string {
		text := string(h.Data)
		return read.If(h.Has("phases") && strings.Contains(text, `"phase_kind"`) && strings.Contains(text, `"phase_name"`), "the index of an AIPerf run's phases: phases with phase_name and phase_kind")
	},
	Read:  readAIPerfPhases,
	Wants: `a JSON object with "phases", each with phase_name and phase_kind (AIPerf's phase_manifest.json)`,
}

// phaseManifest is its name, by which a phase's export finds it.
const phaseManifest = "phase_manifest.json"

// readAIPerfPhases adds the measured phases in their order.
func readAIPerfPhases(d *read.Document, out *read.Rows) error {
	manifest, err := d.Tree()
	if err != nil {
		return err
	}
	isMeasured := false
	for i, phase := range manifest.Objects("phases") {
		if phase.Text("phase_kind") == "warmup" {
			out.Note("phases of warm-up are left out")
			continue
		}
		row, figures, problem := aiperfPhase(d, out, phase)
		if problem != "" {
			if err := out.Reject(int64(i)+1, problem, read.Missing); err != nil {
				return err
			}
			continue
		}
		isMeasured = true
		if err := addPoint(out, row, figures); err != nil {
			return err
		}
	}
	if !isMeasured && out.Err() == nil {
		return hint.Errorf("no measured phase whose export is at hand").Hint("take in the whole folder of the run: the files that metrics_json names are read with this one")
	}
	return out.Err()
}

// aiperfPhase reads a phase and its export. problem is the key that has nothing.
func aiperfPhase(d *read.Document, out *read.Rows, phase read.Object) (row Point, figures []Figure, problem string) {
	export, err := read.ParseTree(d.Beside(insideFolder(phase.Text("metrics_json")), maxBeside))
	if err != nil {
		return row, nil, "metrics_json"
	}
	points := aiperfPoints(export, out)
	if len(points) != 1 {
		return row, nil, "metrics_json"
	}
	row, figures = points[0].row, points[0].figures
	row.Label = phase.Word("phase_name")
	start, end := phase.Number("start_ns"), phase.Number("end_ns")
	if at := instantInNanoseconds(start.Float(), new("ns")); at != nil {
		row.StartedAt = at
	}
	kept := map[string]any{}
	if row.Settings != nil {
		_ = json.Unmarshal([]byte(*row.Settings), &kept)
	}
	if end.Known && start.Known {
		kept["phase_s"] = (end.Value - start.Value) / 1e9
	}
	keep(kept, phase, "phase_index", "profiling_index", "was_cancelled")
	row.Settings = read.Settings(kept)
	return row, figures, ""
}

// insideFolder is a path of the manifest, which may begin at another machine's root;
// never one that leaves the folder.
func insideFolder(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if at := strings.LastIndex(name, "phases/"); at > 0 {
		name = name[at:]
	}
	if name = path.Clean(name); path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return ""
	}
	return name
}

// isPhaseOf says that an export is listed in the manifest two folders up, which reads
// it.
func isPhaseOf(d *read.Document) bool {
	const longest = 1 << 20
	manifest, err := read.ParseTree(d.Beside("../../"+phaseManifest, longest))
	if err != nil {
		return false
	}
	folder := path.Base(path.Dir(strings.ReplaceAll(d.Path, `\`, "/")))
	for _, phase := range manifest.Objects("phases") {
		if insideFolder(phase.Text("metrics_json")) == "phases/"+folder+"/"+path.Base(strings.ReplaceAll(d.Path, `\`, "/")) {
			return true
		}
	}
	return false
}
