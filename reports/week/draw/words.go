package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tidemark/analysis/week"
	"tidemark/analysis/week/service"
	"tidemark/internal/show"
)

// thin is the narrow no-break space between a number and its unit.
const thin = "\u202f"

// longestTitle is how many characters a title has at most.
const longestTitle = 90

// claim is the first of the titles that is short enough.
func claim(titles ...string) string {
	for _, t := range titles {
		if utf8.RuneCountInString(t) <= longestTitle {
			return t
		}
	}
	last := []rune(titles[len(titles)-1])[:longestTitle-1]
	return strings.TrimRight(string(last), " ,;:") + "…"
}

// tenths writes a number with one decimal, such as a growth in per cent, with a true minus.
func tenths(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', 1, 64)
	if x < 0 && text != "0.0" {
		return "−" + text
	}
	return text
}

// signed is tenths with a plus.
func signed(x float64) string {
	if text := tenths(x); strings.HasPrefix(text, "−") || text == "0.0" {
		return text
	}
	return "+" + tenths(x)
}

// seconds writes a bound of a bucket or of an SLO in its shortest form: 1 s, 50 ms.
func seconds(x float64) string {
	return strings.ReplaceAll(show.Setting(x), " ", thin)
}

// rate writes requests a second.
func rate(x float64) string { return show.Figures(x) }

var days = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// clock is the local time of an hour; the hour that occurs twice has its offset.
func clock(hours []week.Hour, i int) string {
	h := hours[i]
	text := fmt.Sprintf("%02d:00", h.HourOfDay)
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(hours) && hours[j].Day == h.Day && hours[j].HourOfDay == h.HourOfDay && len(h.Local) > 16 {
			text += h.Local[16:]
		}
	}
	return text
}

// hourName is Tue 14:00.
func hourName(hours []week.Hour, i int) string { return days[hours[i].Day] + " " + clock(hours, i) }

// hourList names a few hours, and counts many.
func hourList(hours []week.Hour, at []int) string {
	switch n := len(at); {
	case n == 0:
		return ""
	case n == 1:
		return hourName(hours, at[0])
	case n == 2 && hours[at[0]].Day == hours[at[1]].Day:
		return hourName(hours, at[0]) + " and " + clock(hours, at[1])
	case n == 2:
		return hourName(hours, at[0]) + " and " + hourName(hours, at[1])
	case at[n-1]-at[0] == n-1 && at[n-1]+1 < len(hours):
		after := at[n-1] + 1
		if hours[after].Day == hours[at[0]].Day {
			return hourName(hours, at[0]) + " to " + clock(hours, after)
		}
		return hourName(hours, at[0]) + " to " + hourName(hours, after)
	}
	return fmt.Sprintf("%d hours from %s on", len(at), hourName(hours, at[0]))
}

// dateOf is the day of the month and the month of an hour: 16, Nov.
func dateOf(h week.Hour) (day int, month string) {
	if len(h.Local) < 10 {
		return 0, ""
	}
	at, err := time.Parse(time.DateOnly, h.Local[:10])
	if err != nil {
		return 0, ""
	}
	return at.Day(), at.Format("Jan")
}

// Monday is the first day of an ISO week: 2026-W47 is 16 November 2026.
func Monday(isoWeek string) (time.Time, bool) {
	w, err := service.ParseWeek(isoWeek, time.UTC)
	return w.Start(), err == nil
}

// mondayName is 11 January.
func mondayName(isoWeek string) string {
	at, ok := Monday(isoWeek)
	if !ok {
		return isoWeek
	}
	return at.Format("2 January")
}

// ordinal is 7th.
// binds says in words what an objective is about.
func binds(objective string) string {
	for part, words := range map[string]string{"ttft": "time to first token", "tpot": "time per token", "e2e": "time to the last token", "itl": "time between tokens"} {
		if strings.Contains(objective, part+"_from_due") {
			return words + " from due"
		}
		if strings.Contains(objective, part) {
			return words
		}
	}
	return objective
}

// Lower starts a text small, inside a sentence: A GPU runs slow is a GPU runs slow, but KV cache stays.
func Lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsLower(second) || second == ' ' {
		return string(unicode.ToLower(first)) + text[size:]
	}
	return text
}
