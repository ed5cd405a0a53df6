package secrets

import (
	"strings"
	"testing"
)

// scrubberOf knows one key and what may be told: a server's address and its model.
func scrubberOf(key, host, model string) Scrubber {
	c := New()
	c.Add(key)
	c.AddPublic(host)
	c.AddPublic(model)
	c.Seal()
	return c
}

// Text that is not secret stays as it is: the model's name in the key, whole words, and every number.
func TestScrubbingLeavesTheRestAlone(t *testing.T) {
	c := scrubberOf("sk-llama-3.1-8b-instruct-production-1234567890123456", "gpu1.example.com:8000", "meta-llama/Llama-3.1-8B-Instruct")
	for _, text := range []string{
		"The model `meta-llama/Llama-3.1-8B-Instruct` does not exist at gpu1.example.com:8000.",
		"no production server; 5 of 6 wait, 100 % busy & \\ well",
		"request 550e8400-e29b-41d4-a716-446655440000 of session 6e29b41d4a716446 failed",
		"stop",
	} {
		if got := c.Text(text); got != text {
			t.Errorf("got %q, want it as it was: %q", got, text)
		}
	}
	if got := string(c.JSON([]byte(`{"created":1234567890123456,"at":"1234567890123456"}`))); got != `{"at":"[redacted]","created":1234567890123456}` {
		t.Errorf("got %s", got)
	}
	exposition := "# HELP a b\na{job=\"x\"} 1234567890123456\nb 1234567890123456 1234567890123456\n"
	if got := c.Exposition(exposition + `c{k="1234567890123456"} 1`); got != exposition+`c{k="[redacted]"} 1` {
		t.Errorf("got %q", got)
	}
}

func TestWhatLooksLikeATokenInAnAddress(t *testing.T) {
	for segment, want := range map[string]bool{
		"v1": false, "completions": false, "meta-llama-3.1-8b-instruct": false, "Qwen2.5-72B-Instruct-AWQ": false, "us-central1": false,
		"my-team-production-deployment": false, "Meta-Llama-3.1-70B-Instruct-quantized.w4a16": false, "1234": false,
		"tok7Qx9ZkV3mW5pR8sT2": true, "sk-proj-4fQ8xLm2Vt9Rz": true, "550e8400-e29b-41d4-a716-446655440000": true,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.4pcPyMD09olPSyXnrXCjTw": true, "0123456789abcdef0123456789abcdef": true, "deadbeefdeadbeef1": true,
	} {
		if got := isToken(segment); got != want {
			t.Errorf("isToken(%q): got %v, want %v", segment, got, want)
		}
	}
}

func BenchmarkScrubExposition(b *testing.B) {
	c := scrubberOf("sk-Canary/7f3a9<b2c>&d81e-QxZwKyVjUh", "gpu1:8000", "tiny")
	text := strings.Repeat("vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.001\",model_name=\"meta-llama/Llama-3.1-8B\"} 1234.0\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Exposition(text)
	}
}

// FuzzScrub looks for a text around a part of a key in which that part is not found.
func FuzzScrub(f *testing.F) {
	for _, text := range []string{"", `\u0041\`, "%4", "%25", "&#", "&#x4;", "0x", `{"a":"`, "\xff\x00", "Zq4", "Bearer "} {
		f.Add(text, text)
	}
	const key = "sk-proj-Zq4<vT8&nL2mX6/cR9+wB3yH7kD5"
	c := scrubberOf(key, "gpu1:8000", "tiny")
	f.Fuzz(func(t *testing.T, before, after string) {
		part := key[15:29]
		if got := c.Detail(before + part + after); strings.Contains(got, part) && !strings.Contains(before+after, part[:8]) {
			t.Errorf("%q and %q: got %q", before, after, got)
		}
		c.Exposition(before + part + after)
	})
}
