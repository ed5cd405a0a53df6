// Package style is the one stylesheet of every page: runs, comparisons, experiments, results of other tools and the week of a service. It
// names each size, space and colour, for light and dark screens, phones and paper, and says how the texts of drawings look.
package style

import _ "embed"

// Sheet is the stylesheet.
//
//go:embed style.css
var Sheet string

// Hatch is the pattern of what is missing. A page whose drawings use it holds it once.
const Hatch = `<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" stroke="var(--missing)" stroke-width="3"/></pattern></defs></svg>`
