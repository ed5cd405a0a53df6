package deployment

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is one field of a Deployment, as its struct tags describe it.
type Field struct {
	Name    string   // in JSON, in SQL, and as the first column of a table
	Flag    string   // on the command line
	Columns []string // of a table that say it, the best first; Name is among them
	Usage   string   // for the flag's help, with the value in backquotes
	Label   string   // how a value is named in a row of many: "tp %s"

	kind   reflect.Kind // String, Int or Float64
	isRate bool         // bytes a second, which a flag gives with its unit
	most   float64      // of a number; 0: no bound
	index  int
}

// Fields are all fields of a Deployment, in the order in which they are declared.
var Fields = readTags()

func readTags() (fields []Field) {
	of := reflect.TypeFor[Deployment]()
	for i := range of.NumField() {
		tag := of.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		f := Field{
			Name: name, Flag: tag.Get("flag"), Label: tag.Get("label"),
			Columns: append([]string{name}, strings.Fields(tag.Get("also"))...),
			Usage:   "`" + tag.Get("value") + "` " + tag.Get("usage"),
			kind:    of.Field(i).Type.Kind(), isRate: tag.Get("unit") == "bytes/s", index: i,
		}
		if f.Flag == "" {
			f.Flag = strings.ReplaceAll(name, "_", "-")
		}
		f.Label = cmp.Or(f.Label, "%s")
		f.most, _ = strconv.ParseFloat(tag.Get("most"), 64) // without the tag there is no bound
		fields = append(fields, f)
	}
	return fields
}

func names() (all []string) {
	for _, f := range Fields {
		all = append(all, f.Name)
	}
	return all
}

// Named finds a field by its name in JSON.
func Named(name string) Field {
	return Fields[slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })]
}

// Get is the field's value in a deployment: a string, an int or a float64; nil where nothing is said.
func (f Field) Get(d Deployment) any {
	value := reflect.ValueOf(d).Field(f.index)
	if value.IsZero() {
		return nil
	}
	return value.Interface()
}

// IsNumber says whether the field is a count, a share or a rate.
func (f Field) IsNumber() bool { return f.kind != reflect.String }

// Set reads a value as it stands in a flag or in the cell of a table. The error says what is wrong with it and leaves out
// the field's name, which the caller knows better: a flag or a column.
func (f Field) Set(d *Deployment, text string) error {
	into := reflect.ValueOf(d).Elem().Field(f.index)
	switch f.kind {
	case reflect.String:
		into.SetString(text)
	case reflect.Int:
		number, err := wholeNumber(text)
		if err != nil {
			return err
		}
		into.SetInt(int64(number))
	default:
		number, err := f.number(text)
		if err != nil {
			return err
		}
		into.SetFloat(number)
	}
	return nil
}

// maxCount is more GPUs, sequences or tokens than any engine was ever told. The bound keeps a count exact in SQL and JSON.
const maxCount = 1 << 40

// wholeNumber also takes 8.0 and 1e3: spreadsheets and data frames write counts so.
func wholeNumber(text string) (int, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number", text)
	}
	if number != math.Trunc(number) || number < 1 || number > maxCount {
		return 0, fmt.Errorf("%s is not a whole number of at least 1", text)
	}
	return int(number), nil
}

func (f Field) number(text string) (float64, error) {
	number, err := strconv.ParseFloat(text, 64)
	if f.isRate && err != nil {
		bytes, isRate := strings.CutSuffix(text, "/s")
		size, isSize := Bytes(bytes)
		if !isRate || !isSize {
			return 0, fmt.Errorf("%s is not a bandwidth: write a number and its unit, as 600GB/s for 600e9 bytes a second", text)
		}
		number, err = size, nil
	}
	switch {
	case err != nil || math.IsNaN(number):
		return 0, fmt.Errorf("%s is not a number", text)
	case !(number > 0) || math.IsInf(number, 0):
		return 0, fmt.Errorf("%s: a number above 0 is needed", text)
	case f.isRate && number < 1e6:
		return 0, fmt.Errorf("%s is not a bandwidth: write a number and its unit, as 600GB/s for 600e9 bytes a second", text)
	case f.most > 0 && number > f.most:
		return 0, fmt.Errorf("%s: at most %v is possible", text, f.most)
	}
	return number, nil
}

// check is Set's judgement of a value that came another way, by JSON for instance; zero says nothing and is right.
func (f Field) check(d Deployment) error {
	value := f.Get(d)
	if value == nil || !f.IsNumber() {
		return nil
	}
	var scratch Deployment
	return f.Set(&scratch, fmt.Sprint(value))
}

var byteUnits = map[string]float64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// parameterUnits are counts, not bytes: 8B is 8e9 parameters.
var parameterUnits = map[string]float64{"": 1, "M": 1e6, "B": 1e9, "T": 1e12}

// Parameters reads a number of parameters as model names give it: 8B, 70e9, 1.5T.
func Parameters(text string) (count float64, is bool) {
	unit := strings.TrimLeft(text, "0123456789.+-e")
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	size, isUnit := parameterUnits[strings.ToUpper(unit)]
	count = number * size
	return count, err == nil && isUnit && number > 0 && !math.IsInf(count, 0)
}

// Bytes reads a size with its unit: 5.5GiB, 80 GB, 81559MiB.
func Bytes(text string) (size float64, isSize bool) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789.+-e", r) })
	if end < 0 {
		return 0, false
	}
	number, err := strconv.ParseFloat(text[:end], 64)
	unit, isUnit := byteUnits[strings.TrimSpace(text[end:])]
	if err != nil || !isUnit || number < 0 || math.IsInf(number, 0) {
		return 0, false
	}
	return number * unit, true
}
