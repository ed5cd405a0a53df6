package week

import "testing"

// "most of the KV cache in use 0.970 (above 0.970) does not hold" was 0.9699.
func TestAConditionThatDoesNotHoldSaysSo(t *testing.T) {
	c := condition{figure: "kv", comparison: ">", bound: 0.97, says: "most of the KV cache in use", unit: "ratio"}
	for value, want := range map[float64]string{
		0.9699: "just below 0.970 (not above 0.970)", 0.98: "0.980 (above 0.970)", 0.97: "0.970 (not above 0.970)", 0.9701: "just above 0.970 (above 0.970)", 0.5: "0.500 (not above 0.970)",
	} {
		if got := c.told(map[string]float64{"kv": value}); got != c.says+" "+want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}
