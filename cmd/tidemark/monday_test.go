package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
)

// The guide to the Monday report, and the files beside it that make one every Monday.
const (
	guide    = "../../docs/monday.md"
	examples = "../../docs/monday"
)

func text(t *testing.T, path string) string {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	return string(content)
}

// blocks are the guide's code blocks of a language, outside of lists.
func blocks(t *testing.T, language string) (blocks []string) {
	block, of, isInside := "", "", false
	for line := range strings.Lines(text(t, guide)) {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !isInside:
			block, of, isInside = "", strings.TrimSpace(fence), true
		case isFence && of == language:
			blocks = append(blocks, block)
			fallthrough
		case isFence:
			isInside = false
		default:
			block += line
		}
	}
	return blocks
}

func TestTheGuidesServiceFileIsOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.yaml")
	example := blocks(t, "yaml")[0]
	must.Do(t, os.WriteFile(file, []byte(example), 0o644))
	f := must.Get(service.Read(file))(t)
	if len(f.Traffic) != 2 || f.Traffic[1].Covers != service.ByDay || f.Deployment.MaxNumSeqs != 256 || f.Price.USDPerGPUHour != 2.9 {
		t.Errorf("read as %+v", f)
	}
	for line := range strings.Lines(example) {
		if key, _, isKey := strings.Cut(line, ":"); isKey && !strings.HasPrefix(line, " ") && !strings.Contains(text(t, guide), "| `"+key) {
			t.Errorf("the guide does not explain %s", key)
		}
	}
}

// commandExists says of a command line that its verb and its flags exist.
func commandExists(app *cli.App, line string) error {
	words := strings.Fields(line)
	verb := app.Command(words[1])
	if verb == nil {
		return fmt.Errorf("no verb %s", words[1])
	}
	for _, word := range words[2:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && !slices.ContainsFunc(verb.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return fmt.Errorf("%s has no flag %s", words[1], word)
		}
	}
	return nil
}

func TestTheGuidesCommandsExist(t *testing.T) {
	app, checked := newApp(nil, io.Discard, io.Discard), 0
	for _, block := range blocks(t, "") {
		for line := range strings.Lines(block) {
			checked++
			if err := commandExists(app, line); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
			}
		}
	}
	if checked < 4 {
		t.Errorf("%d commands found", checked)
	}
}

// manifest is what the test looks at of a CronJob.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Schedule    string
		TimeZone    string `yaml:"timeZone"`
		JobTemplate struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Command []string
							Env     []struct {
								Name, Value string
							}
							VolumeMounts []struct {
								Name      string
								MountPath string `yaml:"mountPath"`
							} `yaml:"volumeMounts"`
						}
						Volumes []struct {
							Name                  string
							PersistentVolumeClaim struct {
								ClaimName string `yaml:"claimName"`
							} `yaml:"persistentVolumeClaim"`
						}
					}
				}
			}
		} `yaml:"jobTemplate"`
	}
}

func TestTheCronJobIsWhole(t *testing.T) {
	var claim, job manifest
	documents := yaml.NewDecoder(strings.NewReader(text(t, filepath.Join(examples, "cronjob.yaml"))))
	must.Do(t, errors.Join(documents.Decode(&claim), documents.Decode(&job)))
	if err := documents.Decode(new(manifest)); err != io.EOF {
		t.Errorf("a third document: %v", err)
	}
	if job.APIVersion != "batch/v1" || job.Kind != "CronJob" || job.Spec.Schedule != "0 7 * * 1" || claim.Kind != "PersistentVolumeClaim" {
		t.Errorf("%s %s at %q, and a %s", job.APIVersion, job.Kind, job.Spec.Schedule, claim.Kind)
	}
	if _, err := time.LoadLocation(job.Spec.TimeZone); err != nil || job.Spec.TimeZone == "" {
		t.Errorf("zone %q: %v", job.Spec.TimeZone, err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	container := pod.Containers[0]
	var mounted, volumes []string
	paths := map[string]string{}
	for _, mount := range container.VolumeMounts {
		mounted = append(mounted, mount.Name)
		paths[mount.MountPath] = mount.Name
	}
	for _, volume := range pod.Volumes {
		volumes = append(volumes, volume.Name)
		if name := volume.PersistentVolumeClaim.ClaimName; name != "" && name != claim.Metadata.Name {
			t.Errorf("no claim %s", name)
		}
	}
	slices.Sort(mounted)
	slices.Sort(volumes)
	if !slices.Equal(mounted, volumes) {
		t.Errorf("mounted are %v of the volumes %v", mounted, volumes)
	}
	set := map[string]string{}
	for _, variable := range container.Env {
		set[variable.Name] = variable.Value
		isFile := strings.HasPrefix(variable.Value, "/")
		if _, isThere := paths[filepath.Dir(variable.Value)]; isFile && !isThere && paths[variable.Value] == "" {
			t.Errorf("%s: %s is in no volume", variable.Name, variable.Value)
		}
	}
	checkSettings(t, set)
	if paths[filepath.Dir(container.Command[1])] != "files" {
		t.Errorf("%v is not mounted", container.Command)
	}
}

// secretSettings are settings whose value must be the path of a file.
var secretSettings = []string{"PROMETHEUS_AUTH_FILE", "SMTP_NETRC", "WEBHOOK_CONFIG"}

// checkSettings says that the script knows all settings, that those it needs are there, and that none is a secret.
func checkSettings(t *testing.T, set map[string]string) {
	t.Helper()
	script := text(t, filepath.Join(examples, "monday.sh"))
	for name, value := range set {
		if !strings.Contains(script, "#   "+name+" ") && !strings.Contains(script, "#   "+name+"  ") {
			t.Errorf("monday.sh does not know %s", name)
		}
		if slices.Contains(secretSettings, name) && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "%d/") {
			t.Errorf("%s is %q and no path", name, value)
		}
		if strings.Contains(value, "@") && strings.Contains(value, "://") {
			t.Errorf("%s is an address with a user", name)
		}
	}
	for _, name := range []string{"SERVICE", "OUTPUT", "STATE"} {
		if set[name] == "" {
			t.Errorf("%s is not set", name)
		}
	}
}

// unit reads the sections of a unit file.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	values, section := map[string][]string{}, ""
	for line := range strings.Lines(text(t, filepath.Join(examples, name))) {
		line = strings.TrimSpace(line)
		switch key, value, isPair := strings.Cut(line, "="); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]") + "."
		case isPair && section != "":
			values[section+key] = append(values[section+key], value)
		default:
			t.Errorf("%s: %q", name, line)
		}
	}
	return values
}

func TestTheUnitsAreWhole(t *testing.T) {
	job, timer := unit(t, "tidemark-monday.service"), unit(t, "tidemark-monday.timer")
	if got := timer["Timer.Unit"]; !slices.Equal(got, []string{"tidemark-monday.service"}) || len(timer["Timer.OnCalendar"]) != 1 {
		t.Errorf("the timer is of %v at %v", got, timer["Timer.OnCalendar"])
	}
	if got := job["Service.ExecStart"]; len(got) != 1 || filepath.Base(got[0]) != "monday.sh" {
		t.Errorf("starts %v", got)
	}
	set := map[string]string{}
	for _, line := range job["Service.Environment"] {
		for _, pair := range strings.Fields(line) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
	}
	checkSettings(t, set)
	for _, name := range secretSettings {
		file, isCredential := strings.CutPrefix(set[name], "%d/")
		isLoaded := slices.ContainsFunc(job["Service.LoadCredential"], func(c string) bool { return strings.HasPrefix(c, file+":") })
		if isCredential && !isLoaded {
			t.Errorf("%s: no credential %s", name, file)
		}
	}
}

// systemd itself reads the units where it is there. The program that they start is not: true stands for it.
func TestSystemdVerifiesTheUnits(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	dir := t.TempDir()
	isTrue := must.Get(exec.LookPath("true"))(t)
	for _, name := range []string{"tidemark-monday.service", "tidemark-monday.timer"} {
		content := regexp.MustCompile(`(?m)^ExecStart=.*`).ReplaceAllString(text(t, filepath.Join(examples, name)), "ExecStart="+isTrue)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	// It exits with 0 also where it only warns, of an unknown key for example.
	out, err := exec.Command(program, "verify", filepath.Join(dir, "tidemark-monday.timer"), filepath.Join(dir, "tidemark-monday.service")).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(dir)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// monday is a run of the script with programs that only note how they were called.
type monday struct{ dir, calls, mail, hook string }

// runMonday runs the script. codes are the exit codes of the programs; reported is what the report writes as summary.md.
func runMonday(t *testing.T, serviceFile, reported string, codes map[string]int, settings ...string) (m monday, code int) {
	t.Helper()
	m.dir = t.TempDir()
	bin := filepath.Join(m.dir, "bin")
	must.Do(t, os.Mkdir(bin, 0o755))
	stub := func(name, body string) {
		script := fmt.Sprintf("#!/bin/sh\nprintf '%%s ' %s \"$@\" >>%s/calls; echo >>%[2]s/calls\n%s\n", name, m.dir, body)
		must.Do(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	stub("tidemark", fmt.Sprintf(`case $1 in collect) exit %d;; esac
while [ $# -gt 0 ]; do [ "$1" != --summary ] || summary=$2; shift; done
mkdir -p "$summary"; [ ! -f %s/said ] || cp %[2]s/said "$summary/summary.md"; exit %d`, codes["collect"], m.dir, codes["report"]))
	stub("sendmail", fmt.Sprintf("cat >%s/mail; exit %d", m.dir, codes["sendmail"]))
	stub("curl", fmt.Sprintf(`while [ $# -gt 0 ]; do case $1 in --upload-file) cp "$2" %s/mail;; --data-binary) cp "${2#@}" %[1]s/hook;; esac; shift; done; exit %d`, m.dir, codes["curl"]))
	files := map[string]string{"chat.yaml": serviceFile}
	if reported != "" {
		files["said"] = reported
	}
	for name, content := range files {
		must.Do(t, os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o644))
	}
	script := must.Get(filepath.Abs(filepath.Join(examples, "monday.sh")))(t)
	cmd := exec.Command("sh", script)
	cmd.Env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SERVICE=" + m.dir + "/chat.yaml", "OUTPUT=" + m.dir + "/pages", "STATE=" + m.dir, "TMPDIR=" + m.dir}, settings...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out)
	read := func(name string) string {
		content, _ := os.ReadFile(filepath.Join(m.dir, name))
		return string(content)
	}
	m.calls, m.mail, m.hook = strings.ReplaceAll(read("calls"), m.dir, "DIR"), read("mail"), read("hook")
	return m, code
}

const (
	withMetrics = "service: chat\ntime_zone: \"Europe/Berlin\"  # hours of the page\nmetrics: http://prometheus:9090\n"
	withTraces  = "service: chat\ntime_zone: UTC\ntraffic: [chat-*]\n"
)

func TestTheScriptCollectsReportsAndMails(t *testing.T) {
	m, code := runMonday(t, withMetrics, "Buy no GPUs\n", nil, "WEEK=2026-W47", "MAIL_TO=team@example.com", "HEADROOM=0.1", "PROMETHEUS_AUTH_FILE=/secret/token", "PAGE_URL=https://pages.example.com/")
	want := `tidemark collect --service DIR/chat.yaml --runs DIR --prometheus-auth-file /secret/token 
tidemark report --service DIR/chat.yaml --week 2026-W47 --output DIR/pages/chat-2026-W47.html --summary DIR/pages/chat-2026-W47 --force --fail-below-headroom 0.1 
sendmail -i team@example.com 
`
	if code != 0 || m.calls != want {
		t.Errorf("exit code %d, called\n%s", code, m.calls)
	}
	header, body, _ := strings.Cut(m.mail, "\n\n")
	if !strings.Contains(header, "To: team@example.com\nSubject: chat, week 2026-W47\n") || body != "Buy no GPUs\n\nhttps://pages.example.com/chat-2026-W47.html\n" {
		t.Errorf("mailed %q", m.mail)
	}
	app := newApp(nil, io.Discard, io.Discard)
	for line := range strings.Lines(m.calls) {
		if strings.HasPrefix(line, "tidemark ") {
			if err := commandExists(app, line); err != nil {
				t.Error(err)
			}
		}
	}
}

// The week is the one that ended last by the service's clock, whatever the machine's zone is.
func TestTheScriptNamesTheWeekThatIsOver(t *testing.T) {
	berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	weekAgo := func() string { return service.WeekOf(time.Now().Add(-7 * 24 * time.Hour).In(berlin)).String() }
	before := weekAgo()
	m, _ := runMonday(t, withMetrics, "said\n", nil, "TZ=Pacific/Kiritimati")
	if after := weekAgo(); !strings.Contains(m.calls, "--week "+before+" ") && !strings.Contains(m.calls, "--week "+after+" ") {
		t.Errorf("want week %s; called\n%s", before, m.calls)
	}
}

func TestTheScriptOnABadMonday(t *testing.T) {
	for _, c := range []struct {
		name, file, said string
		codes            map[string]int
		settings         string
		code             int
		called, mailed   string
	}{
		{"no metrics, nothing to collect", withTraces, "fits\n", nil, "", 0, "tidemark report", "fits\n"},
		{"the collection fails, the page is made", withMetrics, "fits\n", map[string]int{"collect": 4}, "", 4, "tidemark report", "The collection failed (exit code 4): hours may be missing. \n\nfits\n"},
		{"the gate fails, the summary is sent", withTraces, "buy\n", map[string]int{"report": 1}, "", 1, "sendmail", "buy\n"},
		{"there is no page", withTraces, "", map[string]int{"report": 4}, "", 4, "sendmail", "There is no page of chat for week 2026-W47: tidemark report ended with exit code 4. Its log says why.\n"},
		{"the mail is not taken", withTraces, "fits\n", map[string]int{"sendmail": 75}, "", 75, "sendmail", "fits\n"},
		{"by curl", withTraces, "fits\n", nil, "SMTP_URL=smtps://mail.example.com:465 SMTP_NETRC=/secret/netrc", 0,
			"curl --silent --show-error --fail --url smtps://mail.example.com:465 --ssl-reqd --mail-from team@example.com --mail-rcpt team@example.com", "fits\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, code := runMonday(t, c.file, c.said, c.codes, append(strings.Fields(c.settings), "WEEK=2026-W47", "MAIL_TO=team@example.com")...)
			if code != c.code || !strings.Contains(m.calls, c.called) || strings.Contains(m.calls, "collect") != strings.Contains(c.file, "metrics") {
				t.Errorf("exit code %d, want %d; called\n%s", code, c.code, m.calls)
			}
			if _, body, _ := strings.Cut(m.mail, "\n\n"); body != c.mailed {
				t.Errorf("mailed %q", body)
			}
		})
	}
}

func TestTheScriptsWebhookGetsJSON(t *testing.T) {
	said := "Buy no GPUs: 6 replicas hold with \"17\u202f%\" to spare\n\n| a\\b |\tc\n"
	m, code := runMonday(t, withTraces, said, nil, "WEEK=2026-W47", "WEBHOOK_CONFIG=/secret/webhook")
	var got struct{ Text string }
	if err := json.Unmarshal([]byte(m.hook), &got); err != nil || got.Text != said || code != 0 {
		t.Errorf("exit code %d, sent %q: %v", code, m.hook, err)
	}
	if !strings.Contains(m.calls, "--config /secret/webhook") || strings.Contains(m.calls, "sendmail") {
		t.Errorf("called\n%s", m.calls)
	}
	// Nothing that the script made for itself stays.
	left, err := filepath.Glob(filepath.Join(m.dir, "tmp.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %s", cmp.Or(strings.Join(left, " "), fmt.Sprint(err)))
	}
}
