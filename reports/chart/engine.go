package chart

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dop251/goja"
)

//go:embed echarts/echarts.common.min.js
var echartsSource string

//go:embed render.js
var renderSource string

// engine is one JavaScript machine with ECharts in it. It serves one drawing at a time.
type engine struct {
	mu     sync.Mutex
	render func(options string, width, height int) (string, error)
}

// loaded is made at the first drawing and kept: parsing ECharts takes a good part of a second.
var loaded = sync.OnceValues(load)

// load compiles ECharts and render.js in a JavaScript interpreter. It takes a third of a second, so it is done once per process.
func load() (*engine, error) {
	vm := goja.New()
	for _, script := range []struct{ name, source string }{
		// ECharts asks for a timer when it animates, which it never does here.
		{"timers", `var setTimeout = function () { return 0 }, clearTimeout = function () {};`},
		{"echarts", echartsSource},
	} {
		if _, err := vm.RunScript(script.name, script.source); err != nil {
			return nil, fmt.Errorf("chart: load %s: %w", script.name, err)
		}
	}
	factory, err := vm.RunScript("render.js", renderSource)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	call, _ := goja.AssertFunction(factory)
	function, err := call(goja.Undefined(), vm.Get("echarts"))
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	e := &engine{}
	return e, vm.ExportTo(function, &e.render)
}

// draw renders one option. The interpreter is not safe for concurrent use, so charts are drawn one after the other.
func draw(o any, size Size) (string, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("chart: options: %w", err)
	}
	e, err := loaded()
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	drawn, err := e.render(string(options), size.Width, size.Height)
	if err != nil {
		return "", fmt.Errorf("chart: draw: %w", err)
	}
	return drawn, nil
}
