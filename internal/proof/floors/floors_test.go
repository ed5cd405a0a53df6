package floors

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
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
	"analysis/tune":                          5,
	"analysis/gate":                          6,
	"analysis/decide":                        6,
	"analysis/study":                         6,
	"analysis/metric":                        -1,
	"analysis/queueing":                      0,
	"analysis/regression":                    0,
	"analysis/changepoint":                   1,
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
	"replay/server":                          2,
	"replay/profile":                         2,
	"reports/plot":                           0,
	"reports/style":                          0,
	"internal/engine":                        0,
	"internal/engine/rehearsal":              3,
	"internal/vllmsim":                       1,
	"internal/vllmsim/simpipe":               0,
	"internal/vllmsim/simprocess":            2,
	"internal/hint":                          -3,
	"internal/jsonscan":                      -1,
	"internal/heap":                          -1,
	"internal/lazy":                          -1,
	"internal/maybe":                         -1,
	"internal/parallel":                      -1,
	"internal/store/objects":                 0,
	"internal/store/objects/objectstest":     0,
	"internal/proof/realobjects":             0,
	"internal/proof/release":                 0,
	"internal/yamlfile":                      0,
	"internal/deployment":                    0,
	"internal/cli/terminal":                  1,
	"internal/cli/progress":                  6,
	"internal/cli/watch":                     7,
	"internal/cli/endings":                   6,
	"internal/cli/tables":                    4,
	"internal/cli/shell":                     5,
	"internal/cli/terminal/terminaltest":     0,
	"internal/serve":                         6,
	"internal/serve/worker":                  5,
	"internal/serve/pages":                   10,
	"internal/serve/plot":                    1,
	"internal/cli/commandline":               2,
	"internal/escape":                        -1,
	"internal/wildcard":                      -1,
	"internal/splitmix":                      -1,
	"internal/stat":                          -1,
	"internal/userfile":                      0,
	"internal/show":                          0,
	"fixtures/seeded":                        0,
	"fixtures":                               1,
	"internal/proof/must":                    -2,
	"internal/proof/floors":                  0,
	"internal/proof/realvllm":                0,
	"internal/proof/accuracy":                6,
	"internal/proof/books":                   0,
	"replay/pods":                            0,
	"internal/proof/peers":                   0,
	"internal/proof/soak":                    0,
	"internal/proof/weeks":                   0,
	"internal/proof/drift":                   0,
	"internal/proof/tuning":                  0,
	"internal/proof/chromium":                0,
	"ingest/collect":                         2,
	"internal/proof/realprometheus":          0,
	"internal/proof":                         -1,
	"internal/proof/golden":                  -1,
}

// alone are the packages that import nothing of this module except the leaves, and that build without cgo. Their tests
// take a second, and no change to the store can disturb them.
var alone = []string{"replay", "replay/engines", "replay/host", "replay/plan", "replay/secrets", "replay/wire", "replay/experiment", "replay/schedule", "replay/server",
	"reports/plot", "internal/vllmsim", "internal/engine", "internal/engine/rehearsal"}

// leaves are what a package that stands alone may import of ours: errors, files, scanned JSON, heaps, the deployment, the rooms of replay, and the
// engine model that a rehearsal is played on, which stand alone too.
var leaves = []string{"tidemark/internal/hint", "tidemark/internal/userfile", "tidemark/internal/deployment", "tidemark/internal/yamlfile", "tidemark/internal/splitmix", "tidemark/internal/stat", "tidemark/internal/jsonscan", "tidemark/internal/heap",
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

// A verb asks the packages below: it holds no SQL, knows no database, reads no flag by its name, and works nothing out. What it may
// multiply by is a number that is written there, such as the 1e3 of a column in milliseconds.
func TestVerbsHoldNoSQL(t *testing.T) {
	files, err := filepath.Glob("../../../cmd/tidemark/verbs/*/*.go")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files of verbs: %v", len(files), err)
	}
	set := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(set, path, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			if why := forbiddenInVerb(n); why != "" {
				t.Errorf("%s: %s", set.Position(n.Pos()), why)
			}
			return true
		})
	}
}

var sqlText = regexp.MustCompile(`(?i)^.\s*(select|from (marts|staging|raw|seeds|checks)\.|with \w+ as)\b`)

func forbiddenInVerb(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ImportSpec:
		if n.Path.Value == `"database/sql"` {
			return "knows a database: hand on what package warehouse opens"
		}
	case *ast.SelectorExpr:
		switch n.Sel.Name {
		case "QueryRowContext", "QueryContext", "ExecContext":
			return n.Sel.Name + ": a package below asks the warehouse"
		}
	case *ast.BasicLit:
		if n.Kind == token.STRING && sqlText.MatchString(n.Value) {
			return "SQL text: it belongs to a package below, such as analysis"
		}
	case *ast.FuncType:
		for _, param := range n.Params.List {
			if star, is := param.Type.(*ast.StarExpr); is && isNamed(star.X, "cli", "Context") && len(param.Names) > 0 && param.Names[0].Name != "_" {
				return "reads flags by name: they are fields of the verb's struct (internal/cli/kit)"
			}
		}
	case *ast.BinaryExpr:
		if (n.Op == token.MUL || n.Op == token.QUO) && !isWritten(n.X) && !isWritten(n.Y) {
			return "works out a quantity: a package below does"
		}
	}
	return ""
}

// isWritten says that a factor is a number in the text, or a unit of time.
func isWritten(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return isWritten(e.X)
	case *ast.BinaryExpr:
		return isWritten(e.X) && isWritten(e.Y)
	case *ast.CallExpr: // a conversion, such as float64(time.Hour)
		_, isType := e.Fun.(*ast.Ident)
		return (isType || isNamed(e.Fun, "time", "Duration")) && len(e.Args) == 1 && isWritten(e.Args[0])
	case *ast.SelectorExpr:
		return isNamed(e, "time", e.Sel.Name)
	}
	return false
}

func isNamed(e ast.Expr, pkg, name string) bool {
	selected, is := e.(*ast.SelectorExpr)
	if !is {
		return false
	}
	from, is := selected.X.(*ast.Ident)
	return is && from.Name == pkg && selected.Sel.Name == name
}

func ours(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,Imports,Deps", "-tags", "duckdb_arrow", "tidemark/...")
	out, err := cmd.Output()
	must.Do(t, err)
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
