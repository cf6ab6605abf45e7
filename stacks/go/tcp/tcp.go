// Package tcp dials TCP connections for the stacks and stamps the phases of opening them.
package tcp

import (
	"context"
	"net"
	"net/http/httptrace"

	"commute/stacks/go/engine"
)

// A Conn is a TCP connection that records its closing.
type Conn struct {
	net.Conn
	Connection *engine.Connection
}

// Close closes the connection and records it.
func (c *Conn) Close() error {
	c.Connection.MarkClosed()
	return c.Conn.Close()
}

// Dial dials with the library's own dialer and stamps the phases on connection.
func Dial(ctx context.Context, dialer *net.Dialer, address string, connection *engine.Connection) (net.Conn, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(done httptrace.DNSDoneInfo) {
			if done.Err == nil {
				connection.StampDNS()
			}
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				connection.StampConnect()
			}
		},
	})
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	connection.SetLocalPort(conn.LocalAddr().(*net.TCPAddr).Port)
	return &Conn{conn, connection}, nil
}
