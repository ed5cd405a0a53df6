// Package chromium drives a headless Chromium in tests of pages (build tag pages), in the DevTools protocol over a pipe.
// The browser reaches this machine and nothing else. A test opens a page, asks what is on it, presses keys, looks at what it
// requested and what it complained about, and lets axe-core judge it; $TIDEMARK_PAGES names a folder for pictures.
//
// It refuses the network, so that a page that needs it fails.
package chromium
