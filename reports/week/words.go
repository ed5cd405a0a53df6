package week

import (
	"math"
	"strconv"
	"strings"

	"tidemark/internal/show"
)

// How the page sets numbers: internal/show decides on the figures; here come a narrow space that no line breaks at before the unit, and a
// true minus.
const (
	narrow   = "\u202f"
	unbroken = "\u00a0"
	minus    = "\u2212"
	unknown  = "–"
)

// set sets a number of internal/show for the page: 12.3 ms, −0.6 %.
func set(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, " ", narrow), "-", minus)
}

func figures(x float64) string                  { return set(show.Figures(x)) }
func setting(s float64) string                  { return set(show.Setting(s)) }
func rate(perS float64) string                  { return figures(perS) + "/s" }
func count[N int | int64 | float64](n N) string { return set(show.Count(n)) }
func dollars(usd float64) string                { return set(show.Dollars(usd)) }
func amount(usd float64) string                 { return set(show.Money(usd)) }

// counted writes a number with its noun, which takes an s: 1 hour, 3 hours.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1" + unbroken + noun
	}
	return count(n) + unbroken + noun + "s"
}

// whole writes a ratio in per cent with as many figures as a decision needs: 17, 3.6, 0.4.
func whole(ratio float64) string {
	percent := ratio * 100
	places := 1
	if math.Abs(percent) >= 9.95 {
		places = 0
	}
	if places == 0 {
		return count(percent)
	}
	text := strconv.FormatFloat(percent, 'f', places, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return set(text)
}

func percent(ratio float64) string { return whole(ratio) + narrow + "%" }

// spare writes headroom without decimals, which its interval does not support; below 1 % it keeps one.
func spare(ratio float64) string {
	if math.Abs(ratio) < 0.0095 {
		return whole(ratio)
	}
	return count(math.Round(ratio * 100))
}

// sparePercent writes headroom with its unit; from ten times the load on it is no per cent that a reader could picture: 1,120×.
func sparePercent(ratio float64) string {
	if ratio >= 10 {
		return figures(ratio) + "×"
	}
	return spare(ratio) + narrow + "%"
}

// signed writes a change in per cent without its unit: +2.2, −0.6, 0.
func signed(ratio float64) string {
	if text := whole(ratio); ratio <= 0 || text == "0" {
		return text
	}
	return "+" + whole(ratio)
}

// share writes a share near 1 with two figures of what is missing to 1, and at most two decimals: 97.4, 99.74, > 99.99.
func share(ratio float64) string {
	if ratio < 0.9 {
		return set(show.Figures(ratio * 100))
	}
	return shareTo(ratio, placesOf(ratio))
}

// mostShare is the share from which on two decimals would say 100.
const mostShare = 0.9999

func shareTo(ratio float64, places int) string {
	switch {
	case 1-ratio < 1e-11:
		return "100"
	case ratio > mostShare:
		return ">" + narrow + "99.99"
	}
	return strings.TrimSuffix(strconv.FormatFloat(ratio*100, 'f', places, 64), "."+strings.Repeat("0", places))
}

// placesOf are the decimals of a share in per cent that show two figures of what is missing to 100, two at most.
func placesOf(ratio float64) int {
	if ratio > mostShare {
		return 2
	}
	return min(max(1-int(math.Floor(math.Log10((1-ratio)*100))), 1), 2)
}

// shares writes two shares with as many decimals as the lower one has: 99.85 to 99.93.
func shares(low, high float64) string {
	if low < 0.9 || high < low {
		return interval(share(low), share(high))
	}
	return interval(shareTo(low, placesOf(low)), shareTo(high, placesOf(low)))
}

// scaled writes a large number with its word: 10.8 million.
func scaled(n float64) string {
	for _, power := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if math.Abs(n) >= 0.9995*power.size {
			return figures(n/power.size) + narrow + power.name
		}
	}
	return count(n)
}

// interval writes two numbers: 7.98 to 8.86; two that read alike are one.
func interval(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

// of writes a pointer's number, or a dash where it is not known.
func of[N any](n *N, write func(N) string) string {
	if n == nil {
		return unknown
	}
	return write(*n)
}

// between writes the interval of two numbers, or nothing where an end is not known or both read like the number between them.
func between(low, high *float64, write func(float64) string) string {
	if low == nil || high == nil || write(*low) == write(*high) {
		return ""
	}
	return interval(write(*low), write(*high))
}

// withInterval writes a number with its interval: 8.41 (7.98 to 8.86).
func withInterval(at string, low, high *float64, write func(float64) string) string {
	if ends := between(low, high, write); ends != "" {
		return at + " (" + ends + ")"
	}
	return at
}

// numberWord writes small numbers in words at the start of a sentence.
func numberWord(n int) string {
	words := []string{"No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return count(n)
}

// listed joins words: a, b and c.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// replicas counts them: 1 replica, 6 replicas.
func replicas(n int) string { return counted(n, "replica") }

// metricName is a latency's name on the page, by its name in the contract. What counts from the due time says so.
func metricName(metric string) string {
	switch metric {
	case "queue":
		return "wait in the queue"
	case "failure_ratio":
		return "share that fails"
	}
	return show.Words(metric)
}
