package hint

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Known is a hint for a name that nobody knows: the names it resembles, or those there are.
func Known(thing string, known []string, wanted string) string {
	const some = 12
	if len(known) == 0 {
		return "there is no " + thing + " yet"
	}
	meant := DidYouMean(known, wanted)
	var list string
	if len(known) <= some || meant == "" {
		shown, length := 0, 0
		for shown < min(some, len(known)) && (shown == 0 || length+len(known[shown]) <= mostShown) {
			length += len(known[shown])
			shown++
		}
		list = fmt.Sprintf("known %ss are %s", thing, shortened(known[:shown]))
		if more := len(known) - shown; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
	}
	return strings.Join(slices.DeleteFunc([]string{meant, list}, func(s string) bool { return s == "" }), " ")
}

// mostShown are the bytes of names in a list, mostOfName the characters of one of them: a hint is read in a terminal.
const (
	mostShown  = 240
	mostOfName = 80
)

// shortened names, with commas.
func shortened(names []string) string {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; len(name) > mostOfName {
			short[i] = string([]rune(name)[:min(mostOfName, len([]rune(name)))]) + "..."
		}
	}
	return strings.Join(short, ", ")
}

// DidYouMean suggests at most three names that resemble a wanted one. It is empty if none does.
func DidYouMean(known []string, wanted string) string {
	switch alike := alikeNames(known, wanted); len(alike) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("did you mean %s?", shortened(alike))
	default:
		last := len(alike) - 1
		return fmt.Sprintf("did you mean %s or %s?", shortened(alike[:last]), shortened(alike[last:]))
	}
}

// Misspelt is the known name from which a word of five letters or more differs by one slip of the pen; empty where there is none.
func Misspelt(known []string, word string) string {
	for _, name := range known {
		if len(word) >= 5 && editDistance(name, word) == 1 {
			return name
		}
	}
	return ""
}

// alikeNames are at most three names, the most similar first. A name far behind the best is left
// out.
func alikeNames(known []string, wanted string) []string {
	const enough, behindBest = 0.6, 0.2
	type scored struct {
		name  string
		score float64
	}
	var all []scored
	for _, name := range known {
		if score := likeness(nameTokens(name), nameTokens(wanted)); score >= enough {
			all = append(all, scored{name, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		default:
			return 0
		}
	})
	var names []string
	for _, one := range all[:min(3, len(all))] {
		if one.score >= all[0].score-behindBest {
			names = append(names, one.name)
		}
	}
	return names
}

var nameToken = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)*[a-z]*|[a-z]+`)

// nameTokens are the words and the numbers of a name, with the unit of a number:
// meta-llama/Llama-3.1-8B is llama, 3.1, 8b.
func nameTokens(name string) []string {
	return nameToken.FindAllString(strings.ToLower(path.Base(strings.TrimRight(name, "/"))), -1)
}

// likeness is the share of a name that the wanted one has, 0 to 1, less what the wanted one has in
// addition. The first word is the family, without which nothing is similar; after it the size of a
// model counts most.
func likeness(name, wanted []string) float64 {
	if len(name) == 0 || len(wanted) == 0 {
		return 0
	}
	weightOf := func(i int, token string) float64 {
		switch {
		case i == 0:
			return 3
		case strings.HasSuffix(token, "b"):
			return 2
		default:
			return 1
		}
	}
	var all, found float64
	used := make([]bool, len(wanted))
	for i, token := range name {
		best, at := 0.0, -1
		for j, other := range wanted {
			if same := tokenLikeness(token, other); !used[j] && same > best {
				best, at = same, j
			}
		}
		if i == 0 && best < 0.6 {
			return 0
		}
		if at >= 0 {
			used[at] = true
		}
		all += weightOf(i, token)
		found += weightOf(i, token) * best
	}
	for _, isUsed := range used {
		if !isUsed {
			found -= 0.25
		}
	}
	return found / all
}

// tokenLikeness compares two words by the letters that differ, and two numbers of one unit by that
// or by their ratio, whichever is nearer.
func tokenLikeness(a, b string) float64 {
	if a == b {
		return 1
	}
	letters := 1 - float64(editDistance(a, b))/float64(max(len(a), len(b)))
	x, unitX := numberToken(a)
	y, unitY := numberToken(b)
	switch {
	case x > 0 && y > 0 && unitX == unitY:
		return 0.8 * max(letters, 1/(1+2*math.Abs(math.Log(x/y))))
	case x > 0 || y > 0 || letters < 0.6:
		return 0
	default:
		return letters
	}
}

// numberToken splits a token into number and unit; the number of a word is 0.
func numberToken(token string) (number float64, unit string) {
	digits := strings.TrimRight(token, "abcdefghijklmnopqrstuvwxyz")
	if version := strings.SplitN(digits, ".", 3); len(version) > 1 {
		digits = version[0] + "." + version[1]
	}
	number, _ = strconv.ParseFloat(digits, 64)
	return number, token[min(len(token), len(strings.TrimRight(token, "abcdefghijklmnopqrstuvwxyz"))):]
}

// editDistance is the number of letters to insert, delete, replace or swap with a neighbour
// (Damerau and Levenshtein, in the restricted form).
func editDistance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	beforeThat := make([]int, len(b)+1)
	for i := range len(a) {
		beforeThat, before, row = before, row, beforeThat
		row[0] = i + 1
		for j := range len(b) {
			change := before[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, before[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], beforeThat[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
