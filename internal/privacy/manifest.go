//go:build duckdb_arrow

package privacy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"tidemark/internal/userfile"
)

const (
	manifestSchema = "tidemark.privacy/1"
	manifestEnding = ".privacy.json"
)

// Manifest says how an export was made and what it holds. It names neither the
// source nor the day, because both would tell whose it is.
type Manifest struct {
	Schema     string     `json:"schema"`
	Version    string     `json:"tidemark_version"`
	Form       string     `json:"form"` // trace or histogram
	Files      []File     `json:"files"`
	Parameters Parameters `json:"parameters"`
	Rules      []Verdict  `json:"rules"`
	Columns    []string   `json:"columns"`
	LeftOut    []string   `json:"columns_left_out"`
	Classes    []string   `json:"classes,omitempty"`
	Notes      []string   `json:"notes,omitempty"`
	Zero       string     `json:"zero,omitempty"`    // weekday and hour of second 0, where they were kept
	Dropped    *Dropped   `json:"dropped,omitempty"` // left out when there is noise: exact counts would undo it
	Loss       *Loss      `json:"loss,omitempty"`    // left out for the same reason
	Rows       int64      `json:"rows"`
}

// File is one file of an export.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Parameters are the settings that the rules were checked with. Without the
// key, the seed reveals nothing.
type Parameters struct {
	K               int64   `json:"k"`
	TickS           float64 `json:"tick_s"`
	KeepsWeekday    bool    `json:"keeps_weekday"`
	UserCap         float64 `json:"user_cap_ratio"`
	UserRows        int64   `json:"user_rows,omitempty"` // at most, of one user
	LengthStep      string  `json:"length_step"`
	AnswersAtMiddle bool    `json:"answers_at_middle"`
	TopShare        float64 `json:"top_coded_above_ratio"`
	Ids             string  `json:"ids"`
	Key             string  `json:"key"`
	Seed            uint64  `json:"seed"`
	Epsilon         float64 `json:"epsilon,omitempty"`
	Delta           float64 `json:"delta,omitempty"`
	EpsilonCovers   string  `json:"epsilon_covers,omitempty"`
}

// Dropped counts what did not leave unchanged.
type Dropped struct {
	RowsOfHeavyUsers int64 `json:"rows_of_heavy_users"`
	RareClasses      int   `json:"rare_classes_to_other"`
	UnfitClasses     int   `json:"classes_no_words_to_other"` // of those
	RareTenants      int   `json:"rare_tenants_to_other"`
	ToppedInputs     int64 `json:"inputs_top_coded"`
	ToppedOutputs    int64 `json:"outputs_top_coded"`
	MovedUp          int64 `json:"rows_of_small_cells_moved_up,omitempty"`
}

func (m *Manifest) text() []byte {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(err) // numbers and words alone
	}
	return append(text, '\n')
}

// manifestOf finds the manifest that belongs to a file; nil where there is
// none.
func manifestOf(path string) (*Manifest, error) {
	text, err := userfile.ReadAll(path + manifestEnding)
	if os.IsNotExist(err) {
		text, err = userfile.ReadAll(lengthsName(path) + manifestEnding)
	}
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Schema != manifestSchema {
		return nil, fmt.Errorf("%s%s: not a %s", path, manifestEnding, manifestSchema)
	}
	return &m, nil
}

// ratesName is the name of the rates that belong to a file of lengths: its .csv
// becomes .rates.csv. lengthsName is the reverse.
func ratesName(path string) string {
	at := strings.LastIndex(path, ".csv")
	return path[:at] + ".rates" + path[at:]
}

func lengthsName(path string) string { return strings.Replace(path, ".rates.csv", ".csv", 1) }
