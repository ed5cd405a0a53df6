//go:build peers

package peers

import (
	"os"
	"testing"
)

// The server of a measurement is this test binary again, in a process of its own.
func TestMain(m *testing.M) {
	if listen := os.Getenv(serverEnv); listen != "" {
		serveAt(listen)
		return
	}
	os.Exit(m.Run())
}
