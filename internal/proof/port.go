package proof

import (
	"net"
	"testing"

	"tidemark/internal/proof/must"
)

// FreePort is one that nobody listens on now.
func FreePort(t testing.TB) int {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
