//go:build duckdb_arrow

package ingest

import (
	"testing"
)

// fuzzed lets a reader take the seeds and what is made of them. Its rows count
// tokens that are numbers of tokens.
func fuzzed(f *testing.F, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	format := named(name)
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, format, content) })
}

func FuzzBurstGPT(f *testing.F) {
	fuzzed(f, "burstgpt",
		"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n",
		"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,7,2.5,GPT-4,4,0,4,API log\n9e99,7,1e300,GPT-4,4,1,5,\"a\n",
		"Timestamp,Request tokens,Response tokens\n-1,1,1\nNaN,1,1\n1,9223372036854775808,1\n1,1.0,1\n1\n")
}

func FuzzBailian(f *testing.F) {
	fuzzed(f, "bailian",
		`{"chat_id":159,"parent_chat_id":55,"timestamp":61.114,"input_length":521,"output_length":132,"type":"text","turn":2,"hash_ids":[1089]}`,
		`{"chat_id":1,"parent_chat_id":-1,"timestamp":0,"input_length":2,"output_length":0,"turn":1}`+"\n"+
			`{"chat_id":1,"parent_chat_id":1,"timestamp":1e999,"input_length":2,"output_length":0,"turn":9}`+"\n"+
			`{"chat_id":"2","parent_chat_id":1,"timestamp":"1","input_length":2,"output_length":1,"hash_ids":[-1]}`)
}

func FuzzAgentic(f *testing.F) {
	fuzzed(f, "agentic",
		`{"id":"a","block_size":64,"hash_id_scope":"local","requests":[{"t":0.0,"type":"n","model":"m","in":130,"out":1,"hash_ids":[1,2],"api_time":1.5,"think_time":0}]}`,
		`{"id":"a","block_size":64,"hash_id_scope":"local","requests":[{"t":9,"type":"subagent","agent_id":"x","duration_ms":5000,"requests":[{"t":1,"in":1,"out":1}]},{"t":9e18,"in":1,"out":1},{"t":5,"in":1,"out":1,"think_time":-3}],"totals":{"combined_tokens":{"input":1,"output":2}}}`,
		`{"block_size":64,"hash_id_scope":"global","requests":[{"t":1,"type":"subagent","duration_ms":-1},{"t":1,"in":9999,"out":1,"hash_ids":[99999999999]}]}`)
}

func FuzzLengths(f *testing.F) {
	fuzzed(f, "lengths",
		"requests,input_above,input_up_to,output_up_to,window_from_s\n1,0,1,2,3\n1e308,,,,\n-1,5,1,NaN,1e999\n",
		"window_from_s,window_until_s,class,client,requests,gap_cv,gap_family,gap_shape,gap_scale_s\n0,600,a,b,1,1,gamma,1,1\n")
}

func FuzzLengthList(f *testing.F) {
	fuzzed(f, "length-list", "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n374,44,418,8.5\n0,0,0,\n99999999999,1\n")
}

func FuzzServeGenRates(f *testing.F) {
	fuzzed(f, "servegen-rates", "0,0.5,2,Gamma,0.25,8\n600,0,0,,0,0\n1200,0.25,0.5,Weibull,2.1,4.5\n600,1,1,,1,1\n", "0,1,1,,1,1\n1e308,1,1,Gamma,1e308,1\n")
}

func FuzzServeGenLengths(f *testing.F) {
	fuzzed(f, "servegen-lengths",
		`{"0": {"input_tokens": "{39: 0.5, 41: 5e-1}", "output_tokens": "{}"}, "21600": {"input_tokens": null, "output_tokens": "{1:1}"}}`,
		`{"0": {"input_tokens": "{", "output_tokens": "{,}"}, "1e9": {}, "0.0": {"input_tokens": 5}}`)
}

func FuzzDynamo(f *testing.F) {
	fuzzed(f, "dynamo",
		`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":1777312801000,"agent_context":{"session_id":"s","parent_session_id":"p"},"request":{"request_id":"r","input_tokens":1,"output_tokens":1,"request_received_ms":1777312800000,"total_time_ms":1000.1,"replay":{"trace_block_size":64,"input_length":1,"input_sequence_hashes":[1]}}}`,
		`{"timestamp":1,"event":{"schema":"dynamo.agent.trace.v1","event_type":"request_end","event_time_unix_ms":5,"agent_context":{"program_id":"x"},"request":{"input_tokens":1,"output_tokens":1,"total_time_ms":1e300,"replay":{"trace_block_size":0}}}}`+"\n"+
			`{"event":{"event":{"event_type":"request_end"}}}`+"\n"+`{"event_type":"request_payload"}`)
}

func FuzzAIBrix(f *testing.F) {
	fuzzed(f, "aibrix",
		`{"timestamp": 0, "requests": [{"Prompt Length": 909, "Output Length": 22, "prompt": "a"}, {"Prompt Length": -1}, {}]}`+"\n"+`{"timestamp": -1, "requests": []}`,
		`{"timestamp": 1e999, "requests": [{"prompt_length": 1, "output_length": 1e3, "session_id":"s"}]}`)
}

func FuzzTurns(f *testing.F) {
	fuzzed(f, "aiperf-turns",
		`{"session_id":"a","timestamp":0,"input_length":600,"output_length":52,"hash_ids":[1,2]}`+"\n"+`{"session_id":"a","delay":1500,"input_length":700,"output_length":20}`,
		`{"session_id":7,"delay":5,"input_length":1,"output_length":1}`+"\n"+`{"session_id":"a","timestamp":9e12,"delay":9e12,"input_length":1,"output_length":1}`+"\n"+`{"session_id":"a","delay":9e12,"input_length":1,"output_length":1}`)
}

func FuzzTraceLab(f *testing.F) {
	fuzzed(f, "tracelab",
		`{"provider":"claude","session_id":"a","round_index":0,"round_id":"r","model":"m","input_tokens_total":200,"prefix_tokens":128,"newly_append_tokens":72,"output_tokens":60,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T10:00:00.000Z"},{"event_type":"text","timestamp":"2026-06-01T10:00:02.000Z"}]}`,
		`{"session_id":"a","round_index":9,"prefix_tokens":134217728,"newly_append_tokens":0,"output_tokens":0,"timing_events":[{"event_type":"tool_result","timestamp":"2200-01-01T00:00:00Z"}]}`+"\n"+
			`{"session_id":"a","round_index":1,"prefix_tokens":64,"newly_append_tokens":0,"output_tokens":0,"timing_events":[{"event_type":"tool_result","timestamp":"1971-01-01T00:00:00Z"}]}`)
}

func FuzzSwissAI(f *testing.F) {
	fuzzed(f, "swissai",
		`{"created_at":"2025-10-01T08:00:00","finished_at":"2025-10-01T08:00:03","model":"m","reported_token_input":-1,"reported_token_output":4,"token_count":20,"bucket_ids":[7,8]}`,
		`{"created_at":"1970-01-01","reported_token_input":1e3,"reported_token_output":-1}`+"\n"+`{"created_at":"2025-10-01T08:00:00Z","reported_token_input":5,"reported_token_output":4,"token_count":-1,"bucket_ids":[18446744073709551615]}`)
}

func FuzzTraceLabSessions(f *testing.F) {
	fuzzed(f, "tracelab-sessions",
		"session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n0,0,0,0,512,64,100\n0,0,1,576,128,64,9e12\n0,0,1,576,128,64,9e12\n",
		"id,round_idx,prefix_len,input_len,output_len\na,0,1,2\n,,,,\nb,1,134217728,0,0\n")
}
