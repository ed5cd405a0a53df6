package floors

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floor of each package, by its path inside the module. A package imports only packages on lower floors. A new package
// must be entered here.
var floor = map[string]int{
	"cmd/tidemark":                           12,
	"cmd/tidemark/verbs/model":               11,
	"cmd/tidemark/verbs/send":                10,
	"cmd/tidemark/verbs/take":                10,
	"cmd/tidemark/verbs/read":                11,
	"cmd/tidemark/verbs/keep":                10,
	"internal/cli/kit":                       8,
	"reports":                                7,
	"reports/week":                           9,
	"reports/week/draw":                      8,
	"reports/week/sample":                    8,
	"ingest":                                 4,
	"analysis":                               5,
	"analysis/workload":                      4,
	"analysis/answers":                       3,
	"analysis/capacity":                      4,
	"analysis/capacity/live":                 5,
	"analysis/metric":                        -1,
	"analysis/queueing":                      0,
	"analysis/regression":                    0,
	"analysis/week":                          7,
	"analysis/week/fleet":                    6,
	"analysis/week/forecast":                 0,
	"analysis/week/service":                  1,
	"ingest/traces":                          3,
	"ingest/results":                         3,
	"ingest/metrics":                         3,
	"ingest/hardware":                        3,
	"ingest/runs":                            3,
	"ingest/read":                            2,
	"internal/privacy":                       3,
	"internal/store/warehouse":               2,
	"internal/store/warehouse/warehousetest": 3,
	"internal/store/warehouse/makeempty":     3,
	"internal/store/published":               4,
	"queries":                                1,
	"replay":                                 4,
	"replay/engines":                         1,
	"replay/host":                            1,
	"replay/plan":                            1,
	"replay/secrets":                         1,
	"replay/wire":                            1,
	"replay/schedule":                        2,
	"replay/experiment":                      2,
	"replay/profile":                         2,
	"reports/plot":                           0,
	"reports/style":                          0,
	"internal/engine":                        0,
	"internal/engine/rehearsal":              3,
	"internal/vllmsim":                       1,
	"internal/vllmsim/simpipe":               0,
	"internal/vllmsim/simprocess":            2,
	"internal/hint":                          -1,
	"internal/jsonscan":                      -1,
	"internal/lazy":                          -1,
	"internal/store/objects":                 0,
	"internal/store/objects/objectstest":     0,
	"internal/proof/realobjects":             0,
	"internal/proof/release":                 0,
	"internal/yamlfile":                      0,
	"internal/deployment":                    0,
	"internal/cli/terminal":                  1,
	"internal/cli/progress":                  6,
	"internal/cli/endings":                   6,
	"internal/cli/tables":                    4,
	"internal/cli/shell":                     5,
	"internal/cli/terminal/terminaltest":     0,
	"internal/serve":                         6,
	"internal/serve/worker":                  5,
	"internal/serve/pages":                   10,
	"internal/serve/plot":                    1,
	"internal/cli/commandline":               2,
	"internal/escape":                        0,
	"internal/splitmix":                      -1,
	"internal/stat":                          -1,
	"internal/userfile":                      0,
	"internal/show":                          0,
	"fixtures/seeded":                        0,
	"fixtures":                               1,
	"internal/proof/floors":                  0,
	"internal/proof/realvllm":                0,
	"internal/proof/accuracy":                6,
	"internal/proof/books":                   0,
	"replay/pods":                            0,
	"internal/proof/peers":                   0,
	"internal/proof/soak":                    0,
	"internal/proof/chromium":                0,
	"ingest/collect":                         2,
	"internal/proof/realprometheus":          0,
	"internal/proof":                         -1,
	"internal/proof/golden":                  -1,
}

// alone are the packages that import nothing of this module except the leaves, and that build without cgo. Their tests
// take a second, and no change to the store can disturb them.
var alone = []string{"replay", "replay/engines", "replay/host", "replay/plan", "replay/secrets", "replay/wire", "replay/experiment", "replay/schedule",
	"reports/plot", "internal/vllmsim", "internal/engine", "internal/engine/rehearsal"}

// leaves are what a package that stands alone may import of ours: errors, files, the deployment, the rooms of replay, and the
// engine model that a rehearsal is played on, which stand alone too.
var leaves = []string{"tidemark/internal/hint", "tidemark/internal/userfile", "tidemark/internal/deployment", "tidemark/internal/yamlfile", "tidemark/internal/splitmix", "tidemark/internal/stat",
	"tidemark/replay/engines", "tidemark/replay/host", "tidemark/replay/plan", "tidemark/replay/secrets", "tidemark/replay/wire",
	"tidemark/replay/schedule", "tidemark/internal/engine", "tidemark/internal/engine/rehearsal", "tidemark/internal/vllmsim"}

type listed struct {
	ImportPath     string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	Imports        []string
	Deps           []string
}

func TestImportsOnlyGoDown(t *testing.T) {
	for _, pkg := range ours(t) {
		from, known := floor[inside(pkg.ImportPath)]
		if !known {
			t.Errorf("%s has no floor: add it to the table", pkg.ImportPath)
		}
		for _, imported := range pkg.Imports {
			if !strings.HasPrefix(imported, "tidemark/") {
				continue
			}
			if to := floor[inside(imported)]; to >= from {
				t.Errorf("%s (floor %d) imports %s (floor %d)", pkg.ImportPath, from, imported, to)
			}
		}
	}
}

func TestRoomsThatStandAlone(t *testing.T) {
	for _, pkg := range ours(t) {
		for _, room := range alone {
			if inside(pkg.ImportPath) != room {
				continue
			}
			for _, dep := range pkg.Deps {
				if dep == "github.com/duckdb/duckdb-go/v2" || strings.HasPrefix(dep, "tidemark/") && !slices.Contains(leaves, dep) {
					t.Errorf("%s needs %s; it stands alone", pkg.ImportPath, dep)
				}
			}
		}
	}
}

// The engine model is the same on virtual time and behind HTTP.
func TestTheEngineKnowsNoHTTP(t *testing.T) {
	for _, pkg := range ours(t) {
		if inside(pkg.ImportPath) == "internal/engine" && slices.Contains(pkg.Deps, "net") {
			t.Error("internal/engine needs the network; HTTP is internal/vllmsim's")
		}
	}
}

func TestRoomsThatStandAloneBuildWithoutCgo(t *testing.T) {
	arguments := []string{"build"}
	for _, room := range alone {
		arguments = append(arguments, "tidemark/"+room)
	}
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("without cgo: %v\n%s", err, out)
	}
}

// Whoever builds without the tag, as a plain "go install" does, reads one error that names it (internal/store/warehouse/needs_tag.go), and
// none of the driver's packages, which are empty then.
func TestWithoutTheTagThePackagesAreThere(t *testing.T) {
	if out, err := exec.Command("go", "list", "-deps", "tidemark/cmd/tidemark").CombinedOutput(); err != nil {
		t.Errorf("go list: %v\n%s", err, out)
	}
	if out, err := exec.Command("go", "vet", "tidemark/internal/store/warehouse").CombinedOutput(); err == nil || !strings.Contains(string(out), "needs_go_build_tags_duckdb_arrow") {
		t.Errorf("without the tag: %v\n%s", err, out)
	}
}

// A verb asks and prints: queries are of the packages below, which have tests of their own.
func TestVerbsHoldNoSQL(t *testing.T) {
	files, err := filepath.Glob("../../../cmd/tidemark/verbs/*/*.go")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files of verbs: %v", len(files), err)
	}
	for _, path := range append(files, "../../../cmd/tidemark/main.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, forbidden := range []string{".QueryRowContext(", ".QueryContext(", ".ExecContext("} {
			if strings.Contains(string(text), forbidden) {
				t.Errorf("%s has %s: a package below asks the warehouse", path, forbidden)
			}
		}
	}
}

func ours(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,Imports,Deps", "-tags", "duckdb_arrow", "tidemark/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg listed
		if err := decoder.Decode(&pkg); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, pkg)
	}
}

func inside(importPath string) string { return strings.TrimPrefix(importPath, "tidemark/") }
