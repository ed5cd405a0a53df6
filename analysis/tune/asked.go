package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
)

// Asked is what the files of tune and study have in common: a name, and the traffic that is asked about.
type Asked struct {
	Name, Traffic string
	From, Until   string        // of the traffic's clock
	Window        time.Duration // of the traffic that is asked about; 0: as the verb capacity
	TrafficSHA256 string        // of a file of traffic, or a source's name, and of the part that is asked about
	SHA256        string        // of the file, the SLO and a file of traffic, in hex: what must not change under way
}

// ReadTraffic reads a name, or a mapping with a part of the traffic's clock.
func (a *Asked) ReadTraffic(where string, node *yamlfile.Node) error {
	if len(node.Content) == 0 {
		return yamlfile.Text(&a.Traffic)(where, node)
	}
	err := yamlfile.Fields{"send": yamlfile.Text(&a.Traffic), "from": yamlfile.Text(&a.From), "until": yamlfile.Text(&a.Until), "window": yamlfile.Duration(&a.Window)}.Read(where, node)
	if err != nil {
		return err
	}
	return yamlfile.Require(where, node, "send")
}

// CheckName refuses what cannot name files.
func (a *Asked) CheckName() error {
	if strings.Trim(a.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasPrefix(a.Name, ".") {
		return errors.New("name: small letters, digits, - _ and . only: it names files")
	}
	return nil
}

// Beside is a name in the file at path, as its author means it.
func Beside(path, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}

// Locate finds the traffic, where that is a file, beside the file at path, and takes the sum of it all. slo is the path of the SLO; empty: the
// text has it.
func (a *Asked) Locate(path string, text []byte, slo string) {
	if strings.HasSuffix(a.Traffic, ".zst") || strings.HasSuffix(a.Traffic, ".yaml") || strings.HasSuffix(a.Traffic, ".yml") {
		a.Traffic = Beside(path, a.Traffic)
	}
	traffic := sha256.New()
	fmt.Fprintf(traffic, "%s\x00%s\x00%s\x00", a.From, a.Until, a.Window)
	if file, err := userfile.ReadAll(a.Traffic); a.Traffic != "" && err == nil {
		traffic.Write(file)
	} else {
		fmt.Fprint(traffic, a.Traffic)
	}
	a.TrafficSHA256 = hex.EncodeToString(traffic.Sum(nil))
	sum := sha256.New()
	sum.Write(text)
	for _, name := range []string{slo, a.Traffic} {
		if file, err := userfile.ReadAll(name); name != "" && err == nil { // a source has no file, and who needs one that is missing says so
			fmt.Fprintf(sum, "\x00%s\x00", name)
			sum.Write(file)
		}
	}
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
}
