//go:build duckdb_arrow

package privacy

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
)

// Whatever a file holds, the check ends with verdicts or an error.
func FuzzCheckFile(f *testing.F) {
	for _, seed := range []string{
		`{"arrival_s":0.123,"input_tokens":96,"output_tokens":16,"session_id":"0123456789abcdef","turn":0,"class":"x","blocks":[0,1],"block_tokens":64}`,
		`{"arrival_at":"2023-11-16T18:17:03.123Z","input_tokens":-1,"output_tokens":1e999}`,
		`{"arrival_s":1e300,"input_tokens":9223372036854775807,"output_tokens":0,"blocks":[18446744073709551615],"parent_session_id":"a","session_id":"b"}`,
		`{"input_tokens":null,"output_tokens":null,"class":null,"is_failed":null,"blocks":null,"think_s":null}`,
	} {
		f.Add([]byte(seed+"\n"+seed), true)
	}
	f.Add([]byte("window_from_s,class,input_above,input_up_to,requests\n0,x,,111,10\n,,95,1e999,-1\n"), false)
	f.Add([]byte("requests,requests,\"a\nb\"\n1,2,3\n"), false)
	f.Fuzz(func(t *testing.T, content []byte, isTrace bool) {
		path := filepath.Join(t.TempDir(), "f.csv")
		if isTrace {
			path = filepath.Join(t.TempDir(), "f.jsonl")
		}
		must.Do(t, os.WriteFile(path, content, 0o600))
		if verdicts, _, err := CheckFile(path, Terms{K: 2, UserCap: 0.5}); err == nil && (len(verdicts) != 8 || Passed(verdicts)) {
			t.Errorf("got %+v: a file without a manifest passed, or not every rule was looked at", verdicts)
		}
	})
}
