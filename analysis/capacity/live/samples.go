package live

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tidemark/analysis/capacity"
	"tidemark/replay/engines"
	"tidemark/replay/plan"
)

// What the server's metrics, which a run keeps, say of the server itself: whether others used it, and whether its process was another one
// in the end. The rule for the first is that of marts.shared_servers.

// look is one look at the metrics of an address.
type look struct {
	At         float64 `json:"at_s"`
	Origin     string  `json:"origin"`
	URL        string  `json:"url"`
	Exposition string  `json:"exposition"`
}

// observed reads the run's samples. A file that cannot be read says nothing.
func observed(folder string, replies []capacity.Reply) (isShared, isReplaced bool) {
	file, err := os.Open(filepath.Join(folder, "samples.jsonl.zst"))
	if err != nil {
		return false, false
	}
	defer file.Close()
	lines, err := plan.NewLineReader(file, nil)
	if err != nil {
		return false, false
	}
	defer lines.Close()
	starts := map[string]string{}
	inServer, own, looks := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for {
		text, err := lines.Next()
		if err != nil {
			break // its end, which may be torn
		}
		var l look
		if json.Unmarshal(text, &l) != nil || l.Origin != "server" {
			continue
		}
		if start := engines.StartIn([]byte(l.Exposition)); start != "" {
			isReplaced = isReplaced || starts[l.URL] != "" && starts[l.URL] != start
			starts[l.URL] = start
		}
		if load, isKnown := engines.LoadIn([]byte(l.Exposition)); isKnown && l.At > 0 {
			looks[l.URL]++
			inServer[l.URL] += float64(load.Running + load.Waiting)
			own[l.URL] += inFlight(replies, l.At)
		}
	}
	servers, mine := 0.0, 0.0 // all servers together; the run's requests are not told apart by server
	for url, n := range looks {
		servers += inServer[url] / n
		mine = max(mine, own[url]/n)
	}
	return servers > 1.05*mine+0.5, isReplaced
}

// inFlight are the run's own requests at an instant. One that failed may be the server's until the end.
func inFlight(replies []capacity.Reply, atS float64) (n float64) {
	for _, r := range replies {
		if r.IsSent && r.Sent.Seconds() <= atS && (r.Last == 0 || r.Last.Seconds() > atS) {
			n++
		}
	}
	return n
}
