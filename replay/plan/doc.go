// Package plan says what is due when. It turns a stream of requests (a trace, or what was drawn from a profile) and the
// user's choices into a plan file, and reads that file again when it is sent.
//
// Write passes the stream through the choices, in this order: spread over the ticks of a coarse clock (spread.go), leave out
// and set to speed (choices.go), put in order of the earliest due time (sessions.go, sort.go), thicken with clones
// (thicken.go), limit by time, length and number (choices.go). Then totals.go counts what the header says, and file.go writes
// header and requests as lines of JSON, compressed with zstd (line.go has the form of a line).
//
// Everything that is drawn comes from the seed by hashing a purpose and a key (uniform in choices.go), never from a generator
// with a state: the same seed keeps the same sessions whatever else changes, on every machine and in every version.
//
// Prompts (prompts.go) makes the token ids of a request from its planned lengths and its prefix blocks, so that equal blocks are
// equal tokens and nothing else is shared. A chat endpoint takes text: chattext.go finds words that are one token each.
//
// Write refuses to hold a plan in memory: a million requests stream through, and only sorting and thickening use spool files.
// Scaled (scaled.go) makes the same plan of requests that are in memory already, for a search that needs it at many scales.
package plan
