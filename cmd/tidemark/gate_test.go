package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/proof/must"
)

// The workflow of docs/gate sets what gate.sh asks for and nothing else, and its commands are there. The script gate.txtar plays gate.sh.
func TestTheGateOfCIIsWhole(t *testing.T) {
	const folder = "../../docs/gate"
	var workflow struct {
		On   map[string]any
		Jobs map[string]struct {
			RunsOn []string `yaml:"runs-on"`
			Env    map[string]string
			Steps  []struct {
				Uses, Run string
				If        string
				With      map[string]string
			}
		}
	}
	nightly := yaml.NewDecoder(strings.NewReader(text(t, filepath.Join(folder, "nightly.yaml"))))
	must.Do(t, nightly.Decode(&workflow))
	job := workflow.Jobs["gate"]
	if workflow.On["schedule"] == nil || len(workflow.Jobs) != 1 || len(job.RunsOn) == 0 {
		t.Errorf("runs on %v, at %v", job.RunsOn, workflow.On)
	}
	script := text(t, filepath.Join(folder, "gate.sh"))
	for name := range job.Env {
		if name != "TIDEMARK_WAREHOUSE" && !strings.Contains(script, "#   "+name+" ") {
			t.Errorf("gate.sh does not know %s", name)
		}
	}
	for _, name := range []string{"OLD", "NEW", "SERVE", "PLAN", "MODEL"} {
		if job.Env[name] == "" {
			t.Errorf("%s is not set", name)
		}
	}
	app := newApp(nil, io.Discard, io.Discard)
	commands, kept := 0, ""
	for _, step := range job.Steps {
		if strings.HasPrefix(step.Uses, "actions/upload-artifact@") && strings.Contains(step.If, "!cancelled()") {
			kept = step.With["path"]
		}
		if !strings.Contains(step.Run, "tidemark ") {
			continue
		}
		commands++
		if err := commandExists(app, step.Run); err != nil {
			t.Errorf("%s: %v", step.Run, err)
		}
		if !strings.Contains(step.Run, "--output "+job.Env["PLAN"]) {
			t.Errorf("%s: PLAN is %s", step.Run, job.Env["PLAN"])
		}
	}
	if err := commandExists(app, "tidemark replay PLAN "+job.Env["REPLAY"]); err != nil || !strings.Contains(job.Env["REPLAY"], "--gpu ") || !strings.Contains(job.Env["REPLAY"], "--catalog-model ") {
		t.Errorf("REPLAY %s: %v; without GPU and model the runs are drafts", job.Env["REPLAY"], err)
	}
	if commands != 1 || !strings.Contains(kept, "gate.xml") {
		t.Errorf("%d commands, kept is %q of a red gate", commands, kept)
	}
	for _, name := range []string{"gate.sh", "serve.sh"} {
		if said, err := exec.Command("sh", "-n", filepath.Join(folder, name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}
