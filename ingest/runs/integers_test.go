package runs

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever an array holds, it is read as encoding/json reads it, or refused where that refuses it.
func TestIntegersAreThoseOfEncodingJSON(t *testing.T) {
	for _, text := range []string{
		"[]", "[0]", "[7]", "[260405,436472,606654]", "[1,1,1]", "[ 1, 2 ]", "[-5,3]", "[999999999]", "[2147483647]", "[2147483648]", "[9223372036854775807]", "[9223372036854775808]",
		"[1e2]", "[1.5]", "[null,2]", `["3"]`, "[[1]]", "[true]", "null", "{}", "12", "[1,]", "[01]",
	} {
		var got struct {
			Values *integers `json:"values"`
		}
		var want struct {
			Values *[]int64 `json:"values"`
		}
		line := []byte(`{"values":` + text + "}")
		gotErr, wantErr := json.Unmarshal(line, &got), json.Unmarshal(line, &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, want %v", text, gotErr, wantErr)
			continue
		}
		if gotErr == nil && !reflect.DeepEqual((*[]int64)(got.Values), want.Values) {
			t.Errorf("%s: got %v, want %v", text, got.Values, want.Values)
		}
	}
}
