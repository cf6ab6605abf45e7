// Package tcp dials for the stacks over TCP and notes when what was reached.
package tcp

import (
	"context"
	"net"
	"net/http/httptrace"

	"commute/stacks/go/engine"
)

// A Conn is a TCP connection that tells when it is closed.
type Conn struct {
	net.Conn
	Record *engine.Connection
}

// Close closes it.
func (c *Conn) Close() error {
	c.Record.Closed()
	return c.Conn.Close()
}

// Dial dials with the library's own dialer and stamps its phases.
func Dial(ctx context.Context, dialer *net.Dialer, address string, record *engine.Connection) (net.Conn, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(done httptrace.DNSDoneInfo) {
			if done.Err == nil {
				record.Resolved()
			}
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				record.Connected()
			}
		},
	})
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	record.Bound(conn.LocalAddr().(*net.TCPAddr).Port)
	return &Conn{conn, record}, nil
}
