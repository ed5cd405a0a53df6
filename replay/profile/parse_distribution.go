package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/yamlfile"
)

// lengths reads a number, or a mapping with one kind of distribution and its
// bounds.
func lengths(into **Distribution, of column) func(string, *yamlfile.Node) error {
	return func(where string, node *yamlfile.Node) error {
		d := &Distribution{of: of, least: math.Inf(-1), most: math.Inf(1)}
		*into = d
		if node.Kind == yaml.ScalarNode {
			d.kind = "constant"
			return d.value(&d.a)(where, node)
		}
		return d.read(where, node)
	}
}

// read makes every kind of distribution a known key and refuses a second one.
// Turns, think times and shared prefixes cannot come from a source, because
// traces do not have them.
func (d *Distribution) read(where string, node *yamlfile.Node) error {
	known := yamlfile.Fields{
		"constant":    d.value(&d.a),
		"uniform":     d.readUniform,
		"lognormal":   d.readLognormal,
		"normal":      d.readNormal,
		"quantiles":   d.readQuantiles,
		"histogram":   yamlfile.Each(d.addBucket),
		"exponential": d.readExponential,
		"gamma":       d.readGamma,
		"source":      yamlfile.Text(&d.source),
	}
	if d.of == ofTurns || d.of == ofThink || d.of == ofShared {
		delete(known, "source")
	}
	all := yamlfile.Fields{"min": d.value(&d.least), "max": d.value(&d.most)}
	for name, read := range known {
		all[name] = func(where string, node *yamlfile.Node) error {
			if d.kind != "" {
				return yamlfile.Errorf(node, "%s: a second distribution next to %s", where, d.kind)
			}
			d.kind = name
			return read(where, node)
		}
	}
	if known["source"] != nil {
		all["percentile"] = d.readPercentile
	}
	if err := all.Read(where, node); err != nil {
		return err
	}
	switch {
	case d.kind == "":
		return yamlfile.Errorf(node, "%s: needs one of %s", where, known.Names())
	case d.rank > 0 && d.kind != "source":
		return yamlfile.Errorf(node, "%s: percentile is of a source", where)
	case d.kind == "histogram" && len(d.buckets) == 0:
		return yamlfile.Errorf(node, "%s: the histogram has no counts", where)
	case d.most < d.least:
		return yamlfile.Errorf(node, "%s: max is below min", where)
	}
	return nil
}

// The largest values that are drawn: no server holds more tokens, and no user
// thinks longer than a day. They keep a typing mistake in a tail from making a
// plan that cannot be sent.
const (
	maxTokens = 1 << 24
	maxTurns  = 10_000
	maxThinkS = 86_400
)

// limits are the bounds of a quantity.
func (d *Distribution) limits() (least, most float64) {
	switch d.of {
	case ofThink:
		return 0, maxThinkS
	case ofTurns:
		return 1, maxTurns
	default:
		return 1, maxTokens
	}
}

func (d *Distribution) value(into *float64) func(string, *yamlfile.Node) error {
	least, most := d.limits()
	return yamlfile.Between(into, least, most)
}

func (d *Distribution) readUniform(where string, node *yamlfile.Node) error {
	d.a, d.b = -1, -1
	err := yamlfile.Fields{"from": d.value(&d.a), "until": d.value(&d.b)}.Read(where, node)
	switch {
	case err != nil:
		return err
	case d.a < 0 || d.b < 0:
		return yamlfile.Errorf(node, "%s: needs from and until", where)
	case d.b < d.a:
		return yamlfile.Errorf(node, "%s: until is below from", where)
	}
	return nil
}

// readLognormal reads the median and the 95th percentile, or mu and sigma of
// the logarithm: mu = ln p50, sigma = ln(p95/p50) / 1.645.
func (d *Distribution) readLognormal(where string, node *yamlfile.Node) error {
	p50, p95, mu, sigma := 0.0, 0.0, math.NaN(), math.NaN()
	err := yamlfile.Fields{
		"p50": yamlfile.Number(&p50, isAbove0, "above 0"), "p95": yamlfile.Number(&p95, isAbove0, "above 0"),
		"mu":    yamlfile.Between(&mu, -50, 50),
		"sigma": yamlfile.Between(&sigma, 0, 50),
	}.Read(where, node)
	byQuantiles, byLogs := p50 > 0 && p95 > 0, !math.IsNaN(mu) && !math.IsNaN(sigma)
	switch {
	case err != nil:
		return err
	case byQuantiles == byLogs || p50 > 0 && byLogs || p95 > 0 && byLogs:
		return yamlfile.Errorf(node, "%s: needs p50 and p95, or mu and sigma", where)
	case byQuantiles && p95 < p50:
		return yamlfile.Errorf(node, "%s: p95 is below p50", where)
	case byQuantiles:
		mu, sigma = math.Log(p50), math.Log(p95/p50)/normalQuantile(0.95)
	}
	d.a, d.b = mu, sigma
	return nil
}

// readQuantiles reads p0 to p100, in any order in the file. Values must not
// fall.
func (d *Distribution) readQuantiles(where string, node *yamlfile.Node) error {
	if node.Kind != yaml.MappingNode {
		return yamlfile.Errorf(node, "%s: must be a mapping such as {p5: 100, p50: 800, p95: 4000}", where)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		percent, err := strconv.ParseFloat(strings.TrimPrefix(key.Value, "p"), 64)
		if err != nil || !strings.HasPrefix(key.Value, "p") || !(percent >= 0 && percent <= 100) {
			return yamlfile.Errorf(key, "%s: %q: must be p0 to p100", where, key.Value)
		}
		q := point{rank: percent / 100}
		if err := d.value(&q.value)(where+"."+key.Value, yamlfile.Resolved(node.Content[i+1])); err != nil {
			return err
		}
		d.points = append(d.points, q)
	}
	slices.SortStableFunc(d.points, func(a, b point) int { return cmp.Compare(a.rank, b.rank) })
	if len(d.points) < 2 {
		return yamlfile.Errorf(node, "%s: needs at least two", where)
	}
	for i, q := range d.points[1:] {
		before := d.points[i]
		if q.rank == before.rank {
			return yamlfile.Errorf(node, "%s: p%g is there twice", where, q.rank*100)
		}
		if q.value < before.value {
			return yamlfile.Errorf(node, "%s: not ascending: p%g is %g, p%g is %g", where,
				before.rank*100, before.value, q.rank*100, q.value)
		}
	}
	return nil
}

func (d *Distribution) addBucket(where string, node *yamlfile.Node) error {
	b := bucket{from: -1}
	err := yamlfile.Fields{
		"from":  yamlfile.Between(&b.from, 0, 1e15),
		"until": yamlfile.Between(&b.until, 0, 1e15),
		"count": yamlfile.Between(&b.count, 0, 1e15),
	}.Read(where, node)
	switch {
	case err != nil:
		return err
	case b.from < 0 || b.until == 0:
		return yamlfile.Errorf(node, "%s: needs from, until and count", where)
	case b.until <= b.from:
		return yamlfile.Errorf(node, "%s: until must be above from", where)
	case len(d.buckets) > 0 && b.from < d.buckets[len(d.buckets)-1].until:
		return yamlfile.Errorf(node, "%s: starts below the end of the one before", where)
	}
	if b.count > 0 {
		d.buckets = append(d.buckets, b)
	}
	return nil
}

func isAbove0(v float64) bool { return v > 0 }

func isMean(v float64) bool { return v > 0 && v <= 1e9 }

func (d *Distribution) readExponential(where string, node *yamlfile.Node) error {
	err := yamlfile.Fields{"mean": yamlfile.Number(&d.a, isMean, "above 0 and at most a billion")}.Read(where, node)
	if err == nil && d.a == 0 {
		err = yamlfile.Errorf(node, "%s: mean is missing", where)
	}
	return err
}

// readNormal takes a mean beyond the bounds too: that of the law before it is bounded.
func (d *Distribution) readNormal(where string, node *yamlfile.Node) error {
	d.a, d.b = math.NaN(), math.NaN()
	err := yamlfile.Fields{"mean": yamlfile.Between(&d.a, -1e9, 1e9), "sd": yamlfile.Between(&d.b, 0, 1e9)}.Read(where, node)
	if err == nil && (math.IsNaN(d.a) || math.IsNaN(d.b)) {
		err = yamlfile.Errorf(node, "%s: needs mean and sd", where)
	}
	return err
}

func (d *Distribution) readGamma(where string, node *yamlfile.Node) error {
	err := yamlfile.Fields{"mean": yamlfile.Number(&d.a, isMean, "above 0 and at most a billion"), "shape": shape(&d.b)}.Read(where, node)
	if err == nil && (d.a == 0 || d.b == 0) {
		err = yamlfile.Errorf(node, "%s: needs mean and shape", where)
	}
	return err
}

func (d *Distribution) readPercentile(where string, node *yamlfile.Node) error {
	percent := 0.0
	err := yamlfile.Number(&percent, func(v float64) bool { return v > 0 && v < 100 }, "above 0 and below 100")(where, node)
	d.rank = percent / 100
	return err
}
