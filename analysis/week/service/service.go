// Package service reads what a team says of one of its services: where its traffic is recorded, what it runs on, how many replicas are paid
// for, and what must hold. It also knows the weeks of the service's time zone.
//
//	service.go   the file, read strictly: an unknown key would silently be the default
//	week.go      ISO weeks and their hours by the local clock
//
// It knows neither the warehouse nor whether a source, a GPU or a model exists: whoever asks the warehouse finds out.
package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a container often has no zones of its own

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

// File is a service file.
type File struct {
	Path   string
	SHA256 string // of its bytes
	Text   string

	Service         string
	TimeZone        string
	Zone            *time.Location
	Traffic         []Traffic // none: the demand comes from Metrics
	Metrics         string    // base URL of a Prometheus server; empty: none
	MetricsSelector string    // label matchers such as model_name="llama-3.1-70b"
	Deployment      deployment.Deployment
	Replicas        []Replicas // oldest first; the first holds since ever
	SLO             string     // path of the SLO file, relative to nothing
	Price           Price
	Server          Server // one replica that may be measured
	Routing         string // of requests to replicas: turns (empty), least-loaded or prefix
	LeadWeeks       int    // from an order until a GPU serves
	GrowthWeeks     int    // of history that a forecast may use
	Capacity        string // auto: the best search that fits, else a rehearsal; or rehearsed

	lines map[string]int // of the keys
}

// Traffic names sources of arrivals, or of histograms with rates.
type Traffic struct {
	Source string // a name, or a pattern with *
	Model  string // only requests for this model; empty: all
	Class  string // only requests of this class
	Covers string // rows (the default): from the first row to the last; day: whole local days; or span
	From   time.Time
	Until  time.Time // of a span
	Line   int       // of the file, for errors
}

// The ways to say what a source covers.
const (
	ByRows = "rows"
	ByDay  = "day"
	BySpan = "span"
)

// Replicas are paid for from an instant on; the zero time is since ever.
type Replicas struct {
	From     time.Time
	Replicas int
}

// Server answers where one replica may be measured, outside of production; empty: it is not said.
type Server struct {
	BaseURL string
	Model   string // that it serves
}

// Price of one GPU for an hour; 0 is not said.
type Price struct {
	USDPerGPUHour float64
	Source        string
}

// Mistake is an error in what a key of the file says, which only the warehouse could find, with the key's line. The error of a system stays one.
func (f File) Mistake(key string, err error) error {
	where := fmt.Sprintf("service file %s: line %d: %s", f.Path, f.lines[key], key)
	if mistake := (*hint.Error)(nil); !errors.As(err, &mistake) {
		return fmt.Errorf("%s: %w", where, err)
	}
	return hint.Misuse("%s: %w", where, err).Hint("change line %d of %s: %s", f.lines[key], f.Path, cmp.Or(hint.Of(err), "docs/monday.md says what may stand there"))
}

const example = `the keys are service, time_zone, traffic or metrics, metrics_selector, deployment, replicas, routing, slo, server, price, lead_time, growth, capacity; docs/monday.md has an example`

// Read reads a service file. What is misspelt or makes no sense is an error that names the line.
func Read(path string) (File, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return File{}, hint.Errorf("service file %s: %w", path, errors.Unwrap(err)).Hint("name the YAML file of a service")
	}
	f, err := parse(text, filepath.Dir(path))
	if err != nil {
		return File{}, hint.Misuse("service file %s: %w", path, err).Hint("%s", cmp.Or(hint.Of(err), example))
	}
	sum := sha256.Sum256(text)
	f.Path, f.SHA256, f.Text = path, hex.EncodeToString(sum[:]), string(text)
	return f, nil
}

func parse(text []byte, folder string) (File, error) {
	f := File{GrowthWeeks: 8, Capacity: "auto", lines: map[string]int{}}
	root, err := yamlfile.Parse(text)
	if err != nil {
		return f, err
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		f.lines[root.Content[i].Value] = root.Content[i].Line
	}
	// Dates are midnights of the zone, so that it is needed before the rest is read.
	if err := f.readZone(root); err != nil {
		return f, err
	}
	err = yamlfile.Fields{
		"service":          f.readName,
		"time_zone":        yamlfile.Text(&f.TimeZone),
		"traffic":          yamlfile.Each(f.readTraffic),
		"metrics":          f.readMetrics,
		"metrics_selector": yamlfile.Text(&f.MetricsSelector),
		"deployment":       f.readDeployment,
		"replicas":         f.readReplicas,
		"slo":              yamlfile.Text(&f.SLO),
		"price":            f.readPrice,
		"growth": func(where string, node *yamlfile.Node) error {
			return yamlfile.Fields{"weeks": yamlfile.Whole(&f.GrowthWeeks, 1, 104)}.Read(where, node)
		},
		"lead_time": func(where string, node *yamlfile.Node) error {
			return yamlfile.Fields{"weeks": yamlfile.Whole(&f.LeadWeeks, 0, 52)}.Read(where, node)
		},
		"server":   f.readServer,
		"routing":  yamlfile.OneOf(&f.Routing, "turns", "least-loaded", "prefix"),
		"capacity": yamlfile.OneOf(&f.Capacity, "auto", "rehearsed"),
	}.ReadWith("", root, "service", "time_zone", "deployment", "replicas", "slo")
	if err != nil {
		return f, err
	}
	if len(f.Traffic) == 0 && f.Metrics == "" {
		return f, yamlfile.Errorf(root, "traffic: is missing, and so is metrics: one of them must say where the demand is recorded")
	}
	if f.MetricsSelector != "" && f.Metrics == "" {
		return f, yamlfile.Errorf(root, "metrics_selector: there is no metrics to select from")
	}
	if !filepath.IsAbs(f.SLO) {
		f.SLO = filepath.Join(folder, f.SLO)
	}
	return f, nil
}

func (f *File) readZone(root *yamlfile.Node) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "time_zone" {
			continue
		}
		node := yamlfile.Resolved(root.Content[i+1])
		zone, err := time.LoadLocation(node.Value)
		if err != nil || node.Value == "" || node.Value == "Local" {
			return yamlfile.Errorf(node, "time_zone: %w",
				hint.Misuse("no zone %q", node.Value).Hint("write a name of the IANA list, such as Europe/Berlin or UTC"))
		}
		f.Zone = zone
	}
	if f.Zone == nil {
		f.Zone = time.UTC // the missing key is an error later on
	}
	return nil
}

// A service's name stands in file names and in the folder of collected metrics.
var isName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString

func (f *File) readName(where string, node *yamlfile.Node) error {
	if !isName(node.Value) {
		return yamlfile.Errorf(node, "%s: %q: must be letters, digits, dots, hyphens and underscores, at most 64", where, node.Value)
	}
	f.Service = node.Value
	return nil
}

func (f *File) readTraffic(where string, node *yamlfile.Node) error {
	t, covers := Traffic{Covers: ByRows, Line: node.Line}, ""
	if len(node.Content) == 0 {
		if err := yamlfile.Text(&t.Source)(where, node); err != nil {
			return err
		}
		f.Traffic = append(f.Traffic, t)
		return nil
	}
	err := yamlfile.Fields{
		"source": yamlfile.Text(&t.Source), "model": yamlfile.Text(&t.Model), "class": yamlfile.Text(&t.Class), "covers": yamlfile.Text(&covers),
	}.ReadWith(where, node, "source")
	if err == nil && covers != "" {
		t.Covers, t.From, t.Until, err = f.coverage(covers)
		if err != nil {
			err = yamlfile.Errorf(node, "%s.covers: %w", where, err)
		}
	}
	f.Traffic = append(f.Traffic, t)
	return err
}

// coverage reads "day", "rows", or FROM/UNTIL, each a date or an instant.
func (f *File) coverage(text string) (by string, from, until time.Time, err error) {
	if text == ByRows || text == ByDay {
		return text, from, until, nil
	}
	first, last, isSpan := strings.Cut(text, "/")
	if !isSpan {
		return "", from, until, hint.Misuse("%q: must be rows, day or FROM/UNTIL", text).Hint("such as 2026-11-16/2026-11-23")
	}
	if from, err = f.instant(first); err != nil {
		return "", from, until, err
	}
	if until, err = f.instant(last); err != nil {
		return "", from, until, err
	}
	if !from.Before(until) {
		return "", from, until, hint.Misuse("%q: its end is not after its start", text)
	}
	return BySpan, from, until, nil
}

// instant reads an instant with its offset, or a date, which is its first instant in the service's zone.
func (f *File) instant(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return FirstInstant(day.Year(), day.Month(), day.Day(), f.Zone).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, hint.Misuse("%q is no date and no instant", text).Hint("write 2026-11-16 or 2026-11-16T08:00:00+01:00")
	}
	return at.UTC(), nil
}

func (f *File) readMetrics(where string, node *yamlfile.Node) error {
	at, err := url.Parse(node.Value)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
		return yamlfile.Errorf(node, "%s: %w", where, hint.Misuse("%q is not the address of a Prometheus server", redacted(node.Value, at)).
			Hint("write http://prometheus:9090; a password or token goes into the environment: TIDEMARK_PROMETHEUS_TOKEN"))
	}
	if at.RawQuery != "" || at.ForceQuery || at.Fragment != "" {
		return yamlfile.Errorf(node, "%s: %w", where, hint.Misuse("the address of %s has a query, which would not be sent", at.Host).
			Hint("leave out what follows the ?; a password or token goes into the environment: TIDEMARK_PROMETHEUS_TOKEN"))
	}
	f.Metrics = strings.TrimRight(node.Value, "/")
	return nil
}

func (f *File) readServer(where string, node *yamlfile.Node) error {
	err := yamlfile.Fields{"base_url": yamlfile.Text(&f.Server.BaseURL), "model": yamlfile.Text(&f.Server.Model)}.Read(where, node)
	if err != nil {
		return err
	}
	if at, err := url.Parse(f.Server.BaseURL); err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" {
		return yamlfile.Errorf(node, "%s.base_url: %w", where, hint.Misuse("%q is not the address of a server", redacted(f.Server.BaseURL, at)).
			Hint("write http://gpu1:8000; a key goes into the environment: TIDEMARK_API_KEY"))
	}
	return yamlfile.Require(where, node, "base_url", "model")
}

// redacted leaves out what may be a password or a token.
func redacted(text string, at *url.URL) string {
	if at != nil && at.User != nil {
		text = at.Redacted()
	}
	text, _, _ = strings.Cut(text, "?")
	return text
}

// readDeployment reads the fields of a deployment; model stands for catalog_model, as on the command line of predict.
func (f *File) readDeployment(where string, node *yamlfile.Node) error {
	fields, model := yamlfile.Fields{}, ""
	for _, field := range deployment.Fields {
		name := field.Name
		if name == "catalog_model" {
			name = "model"
		}
		fields[name] = func(where string, node *yamlfile.Node) error {
			if name == "model" {
				model = node.Value
			}
			if err := field.Set(&f.Deployment, node.Value); err != nil {
				return yamlfile.Errorf(node, "%s: %w", where, err)
			}
			return nil
		}
	}
	if err := fields.Read(where, node); err != nil {
		return err
	}
	f.Deployment.CatalogModel = model
	return yamlfile.Require(where, node, "gpu", "model")
}

const mostReplicas = 10_000

func (f *File) readReplicas(where string, node *yamlfile.Node) error {
	if len(node.Content) == 0 {
		r := Replicas{}
		f.Replicas = []Replicas{{}}
		err := yamlfile.Whole(&r.Replicas, 1, mostReplicas)(where, node)
		f.Replicas[0] = r
		return err
	}
	return yamlfile.Each(func(where string, node *yamlfile.Node) error {
		r, from := Replicas{}, ""
		err := yamlfile.Fields{"from": yamlfile.Text(&from), "replicas": yamlfile.Whole(&r.Replicas, 0, mostReplicas)}.ReadWith(where, node, "from", "replicas")
		if err == nil {
			if r.From, err = f.instant(from); err != nil {
				err = yamlfile.Errorf(node, "%s.from: %w", where, err)
			}
		}
		if err == nil && slices.ContainsFunc(f.Replicas, func(o Replicas) bool { return !o.From.Before(r.From) }) {
			err = yamlfile.Errorf(node, "%s.from: %s is not after the entry before it", where, from)
		}
		f.Replicas = append(f.Replicas, r)
		return err
	})(where, node)
}

func (f *File) readPrice(where string, node *yamlfile.Node) error {
	return yamlfile.Fields{
		"usd_per_gpu_hour": yamlfile.Price(&f.Price.USDPerGPUHour),
		"source":           yamlfile.Text(&f.Price.Source),
	}.ReadWith(where, node, "usd_per_gpu_hour")
}

// ReplicasAt is how many replicas were paid for at an instant: before the first entry of a list as many as that one says.
func (f File) ReplicasAt(at time.Time) int {
	paid := f.Replicas[0].Replicas
	for _, r := range f.Replicas {
		if !at.Before(r.From) {
			paid = r.Replicas
		}
	}
	return paid
}
