package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	vllm "tidemark/internal/engine"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/vllmsim"
)

// hiddenSlowdown is how many times as long as the model says each step of $SIM_HIDDEN takes.
const hiddenSlowdown = 1.4

// startHidden serves a small server that does not say that it is simulated, and whose steps take longer than the model says.
func startHidden(e *testscript.Env) {
	config, err := simulated()
	if err != nil {
		panic(err)
	}
	step := config.StepTime
	config.StepTime = func(s vllm.Step) time.Duration { return time.Duration(hiddenSlowdown * float64(step(s))) }
	config.MaxNumSeqs, config.MaxModelLen = 8, 256
	server, err := vllmsim.New(config)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(posing{listener})
	e.Defer(func() { server.Close() })
	e.Setenv("SIM_HIDDEN", "http://"+listener.Addr().String())
}

// posing is a listener on which nobody says that he simulates.
type posing struct{ net.Listener }

func (p posing) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	return posingConn{conn}, err
}

type posingConn struct{ net.Conn }

func (c posingConn) Write(b []byte) (int, error) {
	return c.Conn.Write(bytes.ReplaceAll(b, []byte(`"tidemark_simulated":true`), []byte(`"tidemark_simulated":null`)))
}

// realRun puts a run into a warehouse as if a real server had been measured, whose weights take so many times as long as
// predicted: real-run FILE RUN TIMES. Groups of 1 to 32 requests decode one group after the other.
func realRun() {
	if err := putRun(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func putRun(path, run, times string) error {
	ctx := context.Background()
	w, err := warehouse.Open(ctx, path, warehouse.ReadWrite)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.OneThread(ctx); err != nil { // as ingest does for small files
		return err
	}
	_, err = w.DB().ExecContext(ctx, fmt.Sprintf(`
insert into raw.runs values ('%[1]s', 1, '{"status": "done", "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T11:00:00Z",
    "plan": {"requests": 504}, "result": {"planned": 504, "is_valid": true}, "server": {"is_simulated": false},
    "environment": {"gpu": "H200", "catalog_model": "llama-3.1-70b", "tensor_parallel_size": 1, "quantization": "fp8", "engine_version": "0.24.0"}}');
insert into raw.requests by name
select
    '%[1]s' as run_id,
    row_number() over (order by place, member) - 1 as seq,
    false as is_warm_up,
    1000 as input_tokens,
    201 as output_tokens,
    60e0 * place as due_s,
    due_s as sent_s,
    due_s + 1 as first_token_s,
    first_token_s + 200 * (
        macros.decode_s(d, batch, batch * 1100, batch * 1100) + (%[2]s - 1) * macros.weights_s(d, batch)
    ) as last_token_s,
    201 as output_tokens_reported
from (select place, pow(2, place %% 6)::bigint as batch, unnest(range(batch)) as member from range(48) as places (place)) as requests
cross join macros.deployment({'gpu': 'H200', 'catalog_model': 'llama-3.1-70b', 'quantization': 'fp8', 'engine_version': '0.24.0'}) as d;
update raw.requests set done_s = last_token_s where run_id = '%[1]s'`, run, times))
	if err != nil {
		return err
	}
	return warehouse.Refresh(ctx, w.DB())
}
