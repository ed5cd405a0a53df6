// Package yamlfile reads the YAML files that users write by hand: profiles, experiments, SLOs. A typing mistake in such a
// file must not turn into a different measurement, so reading is strict and every error names its line.
//
// How its parts fit: document.go turns the bytes into one tree of nodes, or into an error at a line; fields.go walks that
// tree. A caller describes a mapping as Fields, a reader for each key, and nests them as the file is nested:
//
//	root, err := yamlfile.Parse(content)
//	...
//	err = yamlfile.Fields{
//		"name":    yamlfile.Text(&f.Name),
//		"repeats": yamlfile.Whole(&f.Repeats, 1, 1000),
//		"rows":    yamlfile.Each(f.addRow),
//	}.Read("", root)
//
// The walk is by hand, because the library's own strict decoding names Go types in its errors and loses the line of a
// value once it is decoded.
//
// It refuses: unknown keys, keys given twice, empty files, more than one document, control characters, and files whose
// aliases expand to more than maxNodes nodes. It opens no file: internal/userfile does.
package yamlfile
