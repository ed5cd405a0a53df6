package draw

import "unicode/utf8"

// The page asks for the reader's own sans serif, so nobody knows here how wide a text will be. These are the widths of
// DejaVu Sans, the widest of the fonts that system-ui stands for: what does not touch in it touches in no other.
// Thousandths of the font's size, from the space (32) to the tilde (126).
var (
	plainWidths = [...]int{
		318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
		636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
		1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
		603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
		500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
		635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
	}
	boldWidths = [...]int{
		348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365,
		696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580,
		1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
		733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500,
		500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
		716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
	}
)

// others are the characters beyond ASCII that our own texts use: narrow no-break space, no-break space, dot, en dash and
// quotes. Any other character counts as a full em.
var others = map[rune]int{0x202f: 200, 0xa0: 348, 0xb7: 380, 0x2013: 500, 0x2019: 380, 0xd7: 838, 0x2212: 838, 0xb1: 838, 0x2715: 838, 0x25cb: 873, 0xb5: 736}

// fontSize of every text in a drawing, pixels.
const fontSize = 13

// textWidth is how wide a text is at most, pixels.
func textWidth(text string, isBold bool) float64 {
	widths := &plainWidths
	if isBold {
		widths = &boldWidths
	}
	sum := 0
	for _, r := range text {
		switch w, known := others[r]; {
		case r >= 32 && r < 127:
			sum += widths[r-32]
		case known:
			sum += w
		default:
			sum += 1000
		}
	}
	return float64(sum) * fontSize / 1000
}

// fit cuts a text to a width.
func fit(text string, isBold bool, width float64) string {
	if textWidth(text, isBold) <= width {
		return text
	}
	for text != "" {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
		if textWidth(text+"…", isBold) <= width {
			return text + "…"
		}
	}
	return ""
}
