// Package results reads what benchmark tools write about their own runs: one file per
// format, named for the tool.
//
// Whatever a tool calls things, its files become three kinds of rows (rows.go):
//
//	Point     one run, or one step of a sweep: what was asked of the server, and of which server
//	Figure    one number that the tool computed, under the tool's own name and with its unit
//	Request   one request, where the file has them, in seconds and tokens
//
// Go carries over what a tool says and derives nothing from it: what a tool's word
// means, and how it converts, is data in queries/seeds/definitions.csv. A format
// file therefore knows only where a tool writes a number and in which unit.
//
// The formats share a few files. object.go reads large JSON whose requests are
// arrays of numbers, as vLLM's and SGLang's clients write it, in a stream; what is
// left of it, and the small reports of all other tools, are the Objects of
// ingest/read. figures.go has the names of statistics and units, requests.go what a
// request of any tool needs, plausible.go the bounds of what a measurement can be.
//
// Texts are never kept: neither prompts and answers nor error messages, names of
// people, keys and addresses. Of a file with texts the numbers are read, or it is
// refused, as the user says.
//
// To read another tool: look at a real file of every version that is in use, and write down
// in the format's comment what its numbers are divided by and where they begin. Most tools
// disagree there and nowhere else: whether a latency includes the first token, whether a
// rate counts failed requests, whether the duration ends with the last request or with the
// last answer. Add the requests first, then the point, then its figures; name the unit of
// every figure; and add the tool's words to queries/seeds/definitions.csv, or its numbers
// cannot be compared with those of another tool.
package results
