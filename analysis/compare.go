//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/analysis/regression"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/stat"
	"tidemark/internal/store/warehouse"
)

// Two runs side by side. marts.run_differences says in which settings they differ and whether they may be compared, marts.run_pairs has the
// values with the intervals of their ratios. This file reads both, and compares groups of repeats, which are no relation of two runs.
//
// With repeats the unit is the run: each gives one value, and Welch's interval of the mean of the logarithms says how far the groups are apart.
// Nothing is assumed of the requests of one run, so that two runs of one server that was warmed up differently are two values. Repeats that were
// sent the same plans, each its own, are paired: what the traffic of a draw does to both is no difference between them.

// Comparison is what two runs, or two groups of repeats, have in common and what they do not.
type Comparison struct {
	Before, After []string // run ids
	Settings      Table    // rows of marts.run_differences: kind, setting, value, other_value, is_refused
	Results       Table    // columns of marts.run_pairs, without the run ids
	Unusable      []string // why figures of a run are not those of the planned load: "run-3: invalid: ..."
	Failed        []string // ids of the runs of these that are valid, in which too many requests failed

	isReset  bool      // before each run the servers' prefix caches were emptied, or its prompts kept apart
	isPaired bool      // each repeat of one side was sent the plan of that of the other side in the same place
	freedoms []float64 // of the interval of each row of Results, see Interval
}

// Interval is that of the ratio in a row of Results that misses the truth with this chance on each side; 0.05 gives the row's own ends. Both
// are NaN where the row has none. freedom is the degrees of freedom that it rests on.
func (c Comparison) Interval(row int, chance float64) (low, high, freedom float64) {
	values := c.Results.Records()[row]
	ratio, _ := values["ratio"].(float64)
	lowEnd, isKnown := values["low_ratio"].(float64)
	highEnd, _ := values["high_ratio"].(float64)
	if !isKnown {
		return math.NaN(), math.NaN(), 0
	}
	freedom = c.freedoms[row]
	wider := 1.0
	if lowEnd < highEnd {
		wider = regression.StudentT(1-chance, freedom) / regression.StudentT95(freedom)
	}
	return ratio * math.Pow(lowEnd/ratio, wider), ratio * math.Pow(highEnd/ratio, wider), freedom
}

// Compare compares one run with another, or several repeats with several. All must be runs of the warehouse, each named once.
func Compare(ctx context.Context, db *sql.DB, before, after []string) (Comparison, error) {
	c := Comparison{Before: before, After: after}
	all := slices.Concat(before, after)
	for i, run := range all {
		if slices.Contains(all[:i], run) {
			return c, hint.Misuse("compare: run %s is named twice", run).Hint("compare a run with another one")
		}
		verdict, err := Judge(ctx, db, run)
		if err != nil {
			return c, err
		}
		if why := verdict.Unusable(); why != "" {
			c.Unusable = append(c.Unusable, run+": "+why)
			if verdict.IsValid {
				c.Failed = append(c.Failed, run)
			}
		}
	}
	if len(all) > 2 && min(len(before), len(after)) < 2 {
		return c, hint.Misuse("compare: %d runs with %d: how far repeats scatter is not known of one run", len(before), len(after)).
			Hint("name two runs or more on each side, or one on each")
	}
	if err := c.pair(ctx, db); err != nil {
		return c, err
	}
	err := db.QueryRowContext(ctx, "select bool_and(coalesce(cache_method <> 'none', false)) from staging.runs where list_contains(string_split(?, ','), run_id)", list(all)).Scan(&c.isReset)
	if err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	if c.Settings, err = askFor(ctx, "compare", db, settingsQuery, list(c.Before), list(c.After), c.isPaired); err != nil {
		return c, err
	}
	if len(all) == 2 {
		err = c.comparePair(ctx, db)
	} else {
		err = c.compareRepeats(ctx, db)
	}
	return c, err
}

// pair puts repeats into the order of their plans, if both sides were sent the same ones and each plan was sent once. Within an experiment that sends
// one plan, the repeat counts as a plan.
func (c *Comparison) pair(ctx context.Context, db *sql.DB) error {
	if len(c.Before) != len(c.After) || len(c.Before) < 2 {
		return nil
	}
	draws, err := warehouse.Pairs[string, string](ctx, db, `
select
    run_id,
    coalesce(plan_fingerprint, run_id) || case when count(distinct coalesce(series_id, run_id)) over () = 1 then ' ' || series_repeat else '' end
from staging.runs
where list_contains(string_split(?, ','), run_id)`, list(slices.Concat(c.Before, c.After)))
	byDraw := func(a, b string) int { return strings.Compare(draws[a], draws[b]) }
	before, after := slices.SortedFunc(slices.Values(c.Before), byDraw), slices.SortedFunc(slices.Values(c.After), byDraw)
	for i := range before {
		if draws[before[i]] != draws[after[i]] || i > 0 && draws[before[i]] == draws[before[i-1]] {
			return err
		}
	}
	c.Before, c.After, c.isPaired = before, after, true
	return err
}

// comparePair compares one run with another. Its intervals rest on drawn blocks: those of a pair of one plan are drawn for both at once
// (macros.resampling_factor).
func (c *Comparison) comparePair(ctx context.Context, db *sql.DB) (err error) {
	if c.Results, err = askFor(ctx, "compare", db, pairQuery, c.Before[0], c.After[0]); err != nil {
		return err
	}
	var blocks float64
	if err := db.QueryRowContext(ctx, "select macros.resampled_blocks()").Scan(&blocks); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for _, row := range c.Results.Records() {
		sets := 2.0
		if row["is_paired"] == true {
			sets = 1
		}
		c.freedoms = append(c.freedoms, sets*(blocks-1))
	}
	return nil
}

// settingsQuery takes two lists of runs, and whether these are pairs. A setting that differs within a list is a difference too: then these are not
// repeats. Of pairs only each pair is looked at, since each was sent a plan of its own.
const settingsQuery = `
with asked as (
    select string_split(?, ',') as before, string_split(?, ',') as after, ?::boolean as is_paired
)

select
    kind,
    setting,
    string_agg(distinct coalesce(value, '-'), ', ' order by coalesce(value, '-')) as value,
    string_agg(distinct coalesce(other_value, '-'), ', ' order by coalesce(other_value, '-')) as other_value,
    bool_or(is_refused) as is_refused
from marts.run_differences, asked
where list_contains(before, run_id)
    and list_contains(after, other_run_id)
    and (not is_paired or list_position(before, run_id) = list_position(after, other_run_id))
    or is_refused
    and not is_paired
    and run_id < other_run_id
    and (list_contains(before, run_id) and list_contains(before, other_run_id) or list_contains(after, run_id) and list_contains(after, other_run_id))
group by
    kind,
    setting
order by
    is_refused desc,
    kind,
    setting`

const pairQuery = `
select
    metric,
    statistic,
    is_paired,
    samples,
    other_samples,
    value,
    other_value,
    ratio,
    low_ratio,
    high_ratio,
    difference,
    low_difference,
    high_difference,
    is_different,
    reason
from marts.run_pairs
where run_id = ?
    and other_run_id = ?
order by
    list_position(['ttft_s', 'tpot_s', 'itl_s', 'e2e_s', 'output_token_per_s'], metric),
    statistic <> 'mean',
    statistic`

// list is how settingsQuery takes runs: no run id has a comma.
func list(runs []string) string { return strings.Join(runs, ",") }

// repeatsQuery has one row for each metric and statistic, with the values of the runs of both groups in their order.
const repeatsQuery = `
with asked as (
    select string_split(?, ',') as before, string_split(?, ',') as after
)

select
    metric,
    statistic,
    list(value order by list_position(before, run_id)) filter (where list_contains(before, run_id) and value > 0) as befores,
    list(value order by list_position(after, run_id)) filter (where list_contains(after, run_id) and value > 0) as afters
from marts.run_statistics, asked
where list_contains(before || after, run_id)
group by
    metric,
    statistic
order by
    list_position(['ttft_s', 'tpot_s', 'itl_s', 'e2e_s', 'output_token_per_s'], metric),
    statistic <> 'mean',
    statistic`

// compareRepeats gives the columns of pairQuery. A value is the geometric mean of its group, because runs are compared by ratios; samples are
// runs. The interval of the difference is that of the ratio times the value before.
func (c *Comparison) compareRepeats(ctx context.Context, db *sql.DB) error {
	results := answers.TableOf(strings.Fields("metric statistic is_paired samples other_samples value other_value ratio low_ratio high_ratio difference low_difference high_difference is_different reason")...)
	results.Name = "marts.run_statistics"
	values, err := askFor(ctx, "compare", db, repeatsQuery, list(c.Before), list(c.After))
	if err != nil {
		return err
	}
	for _, row := range values.Records() {
		one, two := logarithms(row["befores"]), logarithms(row["afters"])
		if len(one) == 0 || len(two) == 0 {
			continue
		}
		value, other := math.Exp(stat.Mean(one)), math.Exp(stat.Mean(two))
		cells := []any{row["metric"], row["statistic"], c.isPaired, int64(len(one)), int64(len(two)), value, other, other / value,
			nil, nil, other - value, nil, nil, nil, "too few runs"}
		freedom := math.NaN()
		if len(one) == len(c.Before) && len(two) == len(c.After) {
			var low, high float64
			if low, high, freedom = welch(one, two); c.isPaired {
				low, high, freedom = paired(one, two)
			}
			low, high = math.Exp(low), math.Exp(high)
			cells = append(cells[:8], low, high, other-value, (low-1)*value, (high-1)*value, low > 1 || high < 1, nil)
		}
		results.Rows, c.freedoms = append(results.Rows, cells), append(c.freedoms, freedom)
	}
	c.Results = results
	return nil
}

func logarithms(cell any) (logs []float64) {
	values, _ := cell.([]any)
	for _, value := range values {
		if v, ok := value.(float64); ok {
			logs = append(logs, math.Log(v))
		}
	}
	return logs
}

// welch is the 90 % interval of the mean of two less the mean of one (Welch 1947), both of two values or more. Groups without any spread have
// an interval without width.
func welch(one, two []float64) (low, high, freedom float64) {
	squareOf := func(values []float64) float64 { // of the standard error
		sum, mean := 0.0, stat.Mean(values)
		for _, v := range values {
			sum += (v - mean) * (v - mean)
		}
		return sum / float64(len(values)-1) / float64(len(values))
	}
	a, b := squareOf(one), squareOf(two)
	difference, width := stat.Mean(two)-stat.Mean(one), 0.0
	if a+b > 0 {
		freedom = (a + b) * (a + b) / (a*a/float64(len(one)-1) + b*b/float64(len(two)-1))
		width = regression.StudentT95(freedom) * math.Sqrt(a+b)
	}
	return difference - width, difference + width, freedom
}

// paired is the 90 % interval of the mean of the differences, two less one, of two pairs or more (Student's).
func paired(one, two []float64) (low, high, freedom float64) {
	differences := make([]float64, len(one))
	for i := range one {
		differences[i] = two[i] - one[i]
	}
	mean, squares := stat.Mean(differences), 0.0
	for _, d := range differences {
		squares += (d - mean) * (d - mean)
	}
	freedom = float64(len(one) - 1)
	width := regression.StudentT95(freedom) * math.Sqrt(squares/freedom/float64(len(one)))
	return mean - width, mean + width, freedom
}

// IsOfOnePlan says that both sides were sent the same requests in the same way; what they got may differ.
func (c Comparison) IsOfOnePlan() bool {
	return !slices.ContainsFunc(c.Settings.Records(), func(row map[string]any) bool {
		return row["setting"] == "plan" || row["kind"] == "load" && row["setting"] != "got_tokens_ratio"
	})
}

// Refused says why the runs must not be compared: they are of other models, loads or origins, or drafts. It is empty if they may.
func (c Comparison) Refused() string {
	var whys []string
	for _, row := range c.Settings.Records() {
		switch {
		case row["is_refused"] != true:
		case row["setting"] == "deployment":
			whys = append(whys, fmt.Sprintf("a draft, of which GPU or model is not known, may have run on anything: %v and %v", row["value"], row["other_value"]))
		case row["setting"] == "got_tokens_ratio":
			whys = append(whys, fmt.Sprintf("of the tokens that were asked for they got %s and %s, which is not the same work", percents(row["value"]), percents(row["other_value"])))
		default:
			whys = append(whys, fmt.Sprintf("%s: %v and %v", row["setting"], row["value"], row["other_value"]))
		}
	}
	return strings.Join(whys, "; ")
}

// FirstLine is about TTFT, TPOT and throughput: by their p99, or by the median where p99 has no interval.
func (c Comparison) FirstLine() string {
	var said []string
	for _, metric := range []string{"ttft_s", "tpot_s", "output_token_per_s"} {
		if text := c.change(metric); text != "" {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return "nothing can be compared: no metric has a value in both"
	}
	line := strings.Join(append(said, c.cache()...), "; ")
	if n := len(c.Unusable); n > 0 {
		return show.Things(n, "run is", "runs are") + " invalid or failed, so this shows nothing: " + line
	}
	return line
}

// cache is a sentence on the prefix cache where it was fuller for one than for the other: then this may be all that makes the difference.
func (c Comparison) cache() []string {
	for _, row := range c.Settings.Records() {
		if row["setting"] == "cached_prompt_ratio" {
			why := "replay --cache reset empties it first"
			if c.isReset {
				why = "no run found what was there before it"
			}
			return []string{fmt.Sprintf("the server had %s of the prompt tokens in its cache, then %s (%s)", percents(row["value"]), percents(row["other_value"]), why)}
		}
	}
	return nil
}

// percents writes ratios that are text, several with commas, as people read them.
func percents(cell any) string {
	texts := strings.Split(fmt.Sprint(cell), ", ")
	for i, text := range texts {
		if ratio, err := strconv.ParseFloat(text, 64); err == nil {
			texts[i] = show.Percent(ratio)
		}
	}
	return strings.Join(texts, ", ")
}

// change is one metric in words, by the first statistic that has an interval; without any, by the last that has values.
func (c Comparison) change(metric string) (text string) {
	for _, statistic := range []string{"p99", "p50", "mean"} {
		for _, row := range c.Results.Records() {
			if row["metric"] != metric || row["statistic"] != statistic {
				continue
			}
			name := StatisticName(statistic, metric)
			interval := fmt.Sprintf("(%s to %s)", Change(row["low_ratio"]), Change(row["high_ratio"]))
			switch {
			case row["is_different"] == true:
				return fmt.Sprintf("%s %s %s", name, Change(row["ratio"]), interval)
			case row["is_different"] == false:
				return fmt.Sprintf("%s ~ %s", name, interval)
			case row["ratio"] != nil:
				text = fmt.Sprintf("%s %s (no interval: %v)", name, Change(row["ratio"]), row["reason"])
			}
		}
	}
	return text
}

// StatisticName names one row of marts.run_pairs as people do: p99 TTFT. A throughput is a mean and nothing else, and needs no word for it.
func StatisticName(statistic, metric string) string {
	if metric == "output_token_per_s" {
		return "output tokens/s"
	}
	return statistic + " " + show.Words(strings.TrimSuffix(metric, "_s"))
}

// ValueOf writes a value of a metric of marts.run_pairs with its unit.
func ValueOf(metric string, x float64) string {
	if !strings.HasSuffix(metric, "_s") || strings.HasSuffix(metric, "_per_s") {
		return show.Figures(x)
	}
	return show.Duration(x)
}

// Change writes a ratio as a change with its sign: 1.05 is +5.00 %.
func Change(ratio any) string {
	r, isKnown := ratio.(float64)
	switch {
	case !isKnown:
		return "-"
	case math.Abs(r-1) < 5e-5:
		return "0 %"
	case r < 1:
		return "-" + show.Percent(1-r)
	}
	return "+" + show.Percent(r-1)
}
