//go:build !unix

package wire

import "net"

// isQuiet cannot look here; a connection is trusted while it is younger than the idle limit.
func isQuiet(net.Conn, bool) bool { return true }

// isQuietSocket is not called here: there are no bare sockets.
func isQuietSocket(int, bool) bool { return true }
