package analysis

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// Points is a table of configurations and of what was measured on them, as it was read: one row is one Point.
type Points struct {
	Header []string
	Rows   [][]string
	Lines  []int // where each row begins in its file

	// Unused are the columns that say nothing to the model: they are copied.
	Unused []string

	columns map[string][]int // of each thing that a Point has, the best first
}

// A thing that a point has, and the columns that say it, the best first: what was really drawn before what was asked for.
type pointColumns struct {
	thing     string
	spellings []string
	isNumber  bool
}

// pointThings are the fields of the deployment, and of the load.
var pointThings = append(deploymentColumns(),
	pointColumns{"GPUs", []string{"gpu_count", "num_gpus", "gpus"}, true},
	pointColumns{"load", []string{"load"}, false},
	pointColumns{"concurrency", []string{"concurrency", "max_concurrency", "clients", "batch_size"}, true},
	pointColumns{"request rate", []string{"request_rate", "requests_per_s_asked", "request_rate_per_s"}, true},
	pointColumns{"input tokens", []string{
		"input_len_mean", "input_tokens_mean", "mean_input_tokens", "isl_mean", "input_len", "input_tokens", "isl", "prompt_tokens", "random_input_len"}, true},
	pointColumns{"output tokens", []string{
		"output_len_mean", "output_tokens_mean", "mean_output_tokens", "osl_mean", "output_len", "output_tokens", "osl", "random_output_len"}, true},
	pointColumns{"cached tokens", []string{"cached_len_mean", "cached_tokens_mean", "cached_len", "cached_tokens"}, true},
	pointColumns{"speculative tokens", []string{"num_speculative_tokens"}, true},
	pointColumns{"acceptance rate", []string{"acceptance_rate"}, true},
	pointColumns{"acceptance length", []string{"acceptance_length"}, true},
	pointColumns{"TPOT", []string{"tpot_s", "mean_tpot_s", "tpot_ms", "mean_tpot_ms", "median_tpot_ms"}, true},
)

func deploymentColumns() (all []pointColumns) {
	for _, f := range deployment.Fields {
		all = append(all, pointColumns{f.Name, append(slices.Clone(f.Columns), strings.ReplaceAll(f.Flag, "-", "_")), f.IsNumber()})
	}
	return all
}

// ReadPoints reads a CSV with a header (RFC 4180; a byte order mark and CRLF are read over). Columns may come in any order
// and in any case, with the hyphens of flags or with underlines, and those that say nothing to the model are kept; one that is a letter away
// from one that does is refused. Nobody knows which cells a row lost or has too many: such
// a row is kept for its place, and its Point is an error.
func ReadPoints(from io.Reader) (*Points, error) {
	reader := csv.NewReader(from)
	reader.FieldsPerRecord = -1 // a row that has lost a cell says so itself
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, hint.Misuse("it is empty: a first line with the names of the columns is missing")
	}
	if err != nil {
		return nil, pointsError(err)
	}
	switch {
	case strings.HasPrefix(header[0], "\xff\xfe"), strings.HasPrefix(header[0], "\xfe\xff"):
		return nil, hint.Misuse("it is UTF-16 text").Hint("save it as UTF-8")
	case len(header) == 1 && strings.Contains(header[0], ";"):
		return nil, hint.Misuse("its columns are separated by semicolons").Hint("save it with commas, and with points in numbers")
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	points := &Points{Header: header}
	if err := points.nameColumns(); err != nil {
		return nil, err
	}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) && len(points.Rows) == 0 {
			return nil, hint.Misuse("a header and no rows").Hint("each row is a configuration and its load")
		}
		if errors.Is(err, io.EOF) {
			return points, points.unmodelled()
		}
		if err != nil {
			return nil, pointsError(err)
		}
		line, _ := reader.FieldPos(0)
		points.Rows, points.Lines = append(points.Rows, row), append(points.Lines, line)
	}
}

// pointsError says where a file is no CSV.
func pointsError(err error) error {
	var parse *csv.ParseError
	switch {
	case !errors.As(err, &parse):
		return err
	case errors.Is(parse.Err, csv.ErrQuote):
		return hint.Misuse("line %d: a quote that is not closed", parse.StartLine).
			Hint(`a quote inside a cell is written twice, and the cell stands in quotes`)
	default:
		return hint.Misuse("line %d: a quote inside a cell", parse.Line).
			Hint(`a quote inside a cell is written twice, and the cell stands in quotes`)
	}
}

// columnSpelling is a header's name as ours are spelled: Max-Num-Seqs and --max-num-seqs are max_num_seqs.
func columnSpelling(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(strings.TrimSpace(name), "-")), "-", "_")
}

func (p *Points) nameColumns() error {
	places := map[string]int{}
	for i, name := range p.Header {
		name = columnSpelling(name)
		if _, twice := places[name]; twice {
			return hint.Misuse("line 1: two columns are named %q", name).Hint("rename one of them")
		}
		places[name] = i
	}
	p.columns = map[string][]int{}
	var spellings []string
	for _, known := range pointThings {
		spellings = append(spellings, known.spellings...)
		for _, spelling := range known.spellings {
			if place, is := places[spelling]; is && !slices.Contains(p.columns[known.thing], place) {
				p.columns[known.thing] = append(p.columns[known.thing], place)
			}
		}
	}
	for _, name := range p.Header {
		said := columnSpelling(name)
		if slices.Contains(spellings, said) {
			continue
		}
		if meant := hint.Misspelt(spellings, said); meant != "" {
			return hint.Misuse("line 1: no column %q", name).Hint("did you mean %s? Columns of your own are copied, but need names that are not nearly ours", meant)
		}
		p.Unused = append(p.Unused, name)
	}
	return nil
}

// unmodelled refuses a row that asks for what no prediction has. Where a column says whether a row is disaggregated, sizes of its
// parts beside it say nothing more: tables have them of all rows.
func (p *Points) unmodelled() error {
	isDisaggregated := func(name string) bool { return strings.Contains(columnSpelling(name), "disagg") }
	says := slices.ContainsFunc(p.Header, isDisaggregated)
	for column, name := range p.Header {
		technique := hint.Unmodelled(name)
		if technique == "" || says && technique == hint.Unmodelled("disagg") && !isDisaggregated(name) {
			continue
		}
		for row, cells := range p.Rows {
			if column < len(cells) && !slices.Contains([]string{"", "0", "false", "no", "none", "null", "off"}, strings.ToLower(strings.TrimSpace(cells[column]))) {
				return hint.Misuse("line %d: %s: %s is not modelled", p.Lines[row], name, technique).Hint("leave the row out; %s", hint.MeasureUnmodelled)
			}
		}
	}
	return nil
}

// CheckColumns refuses a table that lacks what a point cannot do without, where base does not say it either.
func (p *Points) CheckColumns(base Point) error {
	if lacks := p.Lacks(base); len(lacks) > 0 {
		return hint.Misuse("no column for %s", strings.Join(lacks, ", ")).
			Hint("columns are gpu, model, input_len, output_len, concurrency or request_rate, ...; what is the same for all rows may be a flag")
	}
	return nil
}

// Lacks are the columns that a point cannot do without, and that neither the file nor base has.
func (p *Points) Lacks(base Point) (lacks []string) {
	has := func(thing string) bool { return len(p.columns[thing]) > 0 }
	for _, need := range []struct {
		column string
		is     bool
	}{
		{"gpu", base.GPU != "" || has("gpu")}, {"model", base.CatalogModel != "" || has("catalog_model")},
		{"input_len", base.InputTokens > 0 || has("input tokens")}, {"output_len", base.OutputTokens > 0 || has("output tokens")},
		{"concurrency or request_rate", base.Clients > 0 || base.RequestsPerS > 0 || has("concurrency") || has("request rate")},
	} {
		if !need.is {
			lacks = append(lacks, need.column)
		}
	}
	return lacks
}

// IsNumber tells of a column whether it is read as one.
func (p *Points) IsNumber(column int) bool {
	return slices.ContainsFunc(pointThings, func(known pointColumns) bool {
		return known.isNumber && slices.Contains(p.columns[known.thing], column)
	})
}

// HasTPOT tells whether a measurement stands beside the points.
func (p *Points) HasTPOT() bool { return len(p.columns["TPOT"]) > 0 }

// TPOT is what was measured, seconds; NaN where nothing was.
func (p *Points) TPOT(row int) float64 {
	measured, _ := p.measured(row)
	return measured
}

// measured is the best of the columns of a TPOT that has a time, in seconds. Where there is none why says which number
// stands there and is no time; a word, or NaN, says that nothing was measured.
func (p *Points) measured(row int) (seconds float64, why string) {
	if p.raggedness(row) != nil {
		return math.NaN(), ""
	}
	for _, place := range p.columns["TPOT"] {
		text, name := strings.TrimSpace(p.Rows[row][place]), strings.TrimSpace(p.Header[place])
		measured, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(measured) {
			continue
		}
		if measured <= 0 || math.IsInf(measured, 0) {
			if why == "" {
				why = fmt.Sprintf("%s: %s is no measured time and is not compared", name, text)
			}
			continue
		}
		if strings.HasSuffix(strings.ToLower(name), "_ms") {
			measured *= 1e-3
		}
		return measured, ""
	}
	return math.NaN(), why
}

// raggedness is of a row that has not as many cells as there are columns.
func (p *Points) raggedness(row int) error {
	if len(p.Rows[row]) == len(p.Header) {
		return nil
	}
	cells := "1 cell"
	if n := len(p.Rows[row]); n != 1 {
		cells = fmt.Sprintf("%d cells", n)
	}
	return hint.Misuse("line %d: %s, %d are named", p.Lines[row], cells, len(p.Header))
}

// Point is a row over base, which says what the row does not.
func (p *Points) Point(row int, base Point) (Point, error) {
	if err := p.raggedness(row); err != nil {
		return base, err
	}
	cells := &cellReader{points: p, row: p.Rows[row]}
	point := base
	cells.deployment(&point.Deployment)
	cells.gpus(&point)
	cells.load(&point)
	cells.positive("input tokens", &point.InputTokens)
	cells.positive("output tokens", &point.OutputTokens)
	cells.number("cached tokens", &point.CachedTokens)
	cells.number("speculative tokens", &point.Drafts)
	cells.number("acceptance length", &point.TokensPerStep)
	if rate := math.NaN(); cells.number("acceptance rate", &rate) {
		point.AcceptanceRate = &rate
	}
	point.Deployment = point.Deployment.Normal()
	if cells.err == nil {
		cells.err = point.CheckNames()
	}
	return point, cells.err
}
