//go:build peers

package peers

import (
	"os"
	"testing"

	"tidemark/internal/vllmsim/simprocess"
)

// The server of a measurement is this test binary again, in a process of its own.
func TestMain(m *testing.M) {
	if listen := os.Getenv(serverEnv); listen != "" {
		simprocess.Serve(listen, serverConfig())
	}
	os.Exit(m.Run())
}
