package plot

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// ScriptName has the version in it, so that a browser may keep the file for good.
const ScriptName = "echarts-6.1.0.min.js"

// Script is dist/echarts.min.js of the npm package echarts, by gzip -9 -n. Its licences are in the same folder.
//
//go:embed echarts/echarts.min.js.gz
var Script []byte

// PlainScript is the same for a client that does not take gzip.
func PlainScript() ([]byte, error) {
	packed, err := gzip.NewReader(bytes.NewReader(Script))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(packed)
}
