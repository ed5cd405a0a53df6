package style_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

var (
	blockOfColours = regexp.MustCompile(`:root \{([^}]*)\}`)
	colour         = regexp.MustCompile(`(--[a-z0-9-]+): #([0-9a-f]{3,6});`)
)

// palettes are the stylesheet's colours in light and in dark.
func palettes(t *testing.T) map[string]map[string]string {
	t.Helper()
	css := stylesheet(t)
	blocks := blockOfColours.FindAllStringSubmatch(css, -1)
	light, dark := map[string]string{}, map[string]string{}
	for _, c := range colour.FindAllStringSubmatch(blocks[0][1], -1) {
		light[c[1]], dark[c[1]] = c[2], c[2]
	}
	for _, c := range colour.FindAllStringSubmatch(blocks[1][1], -1) {
		dark[c[1]] = c[2]
	}
	return map[string]map[string]string{"light": light, "dark": dark}
}

func stylesheet(t *testing.T) string {
	t.Helper()
	css := must.Get(os.ReadFile("style.css"))(t)
	return string(css)
}

// luminance is the relative one of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n := must.Get(strconv.ParseUint(hex[2*i:2*i+2], 16, 8))(t)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// Text is at least 4.5 to 1 on what it stands on, and a mark that carries meaning 3 to 1.
func TestContrast(t *testing.T) {
	if got := contrast(t, "000", "ffffff"); math.Abs(got-21) > 1e-9 { // (1 + 0.05) / 0.05
		t.Fatalf("black on white: got %v, want 21", got)
	}
	for theme, colours := range palettes(t) {
		check := func(least float64, on string, names ...string) {
			for _, name := range names {
				if colours[name] == "" || colours[on] == "" {
					t.Errorf("%s: no colour %s or %s", theme, name, on)
					continue
				}
				if got := contrast(t, colours[name], colours[on]); got < least {
					t.Errorf("%s: %s on %s: got %.2f, want at least %v", theme, name, on, got, least)
				}
			}
		}
		check(4.5, "--ground", "--ink", "--soft", "--link", "--measured", "--predicted", "--good", "--bad", "--limit")
		check(4.5, "--raised", "--ink", "--soft", "--link", "--good")
		check(4.5, "--shade", "--ink", "--soft", "--measured", "--predicted", "--bad")
		check(4.5, "--bad-ground", "--ink", "--soft", "--bad")
		check(4.5, "--good-ground", "--ink", "--good")
		check(4.5, "--q0", "--on-q")
		check(4.5, "--q1", "--on-q")
		check(4.5, "--q2", "--on-q")
		check(4.5, "--q3", "--on-q3")
		check(4.5, "--q4", "--on-q4")
		check(4.5, "--q5", "--on-q-deep")
		check(4.5, "--q6", "--on-q-deep")
		check(3, "--ground", "--missing", "--axis", "--measured-edge")
	}
}

// On the screen every size of type and every colour is one that the stylesheet names.
func TestStylesheetKeepsToItsScales(t *testing.T) {
	screen, paper, _ := strings.Cut(stylesheet(t), "@media print")
	must.Say(t, paper, "size: A4", "counter(page)", "counter(pages)")
	for _, size := range regexp.MustCompile(`font-size: ([^;]*);`).FindAllStringSubmatch(screen, -1) {
		if !regexp.MustCompile(`^(var\(--t[1-7]\)|1em|\.875em|inherit|13px)$`).MatchString(size[1]) {
			t.Errorf("font-size %s is not on the scale", size[1])
		}
	}
	rules := blockOfColours.ReplaceAllString(screen, "")
	if found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindString(rules); found != "" {
		t.Errorf("colour %s has no name", found)
	}
	if found := regexp.MustCompile(`@import|https?:|url\([^#]`).FindString(stylesheet(t)); found != "" {
		t.Errorf("the stylesheet has %q, which loads something", found)
	}
}

// A colour that a rule asks for is there.
func TestEveryColourIsDefined(t *testing.T) {
	css := stylesheet(t)
	for _, use := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(css, -1) {
		must.Say(t, css, use[1]+":")
	}
}
