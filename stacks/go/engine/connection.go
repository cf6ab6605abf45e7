package engine

import (
	"context"
	"crypto/tls"
	"sync"
)

// A Connection is one attempt to open a connection and its outcome.
type Connection struct {
	mu        sync.Mutex
	opener    *Call // the call that the library dialled for
	user      *Call // the first call carried
	number    int   // 0 before the first call
	localPort int
	protocol  string
	resumed   bool
	closed    bool
	dnsNs     int64
	connectNs int64
	tlsNs     int64
}

// StampDNS records that the name was resolved just now.
func (c *Connection) StampDNS() { c.StampDNSAt(Now()) }

// StampDNSAt records when the name was resolved, in ns of CLOCK_MONOTONIC.
func (c *Connection) StampDNSAt(ns int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dnsNs = ns
}

// SetLocalPort records the port of the client's socket.
func (c *Connection) SetLocalPort(port int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.localPort = port
}

// StampConnect records that TCP connected just now.
func (c *Connection) StampConnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connectNs = Now()
}

// HandshakeDone records the outcome of the handshake, and its end unless already stamped.
func (c *Connection) HandshakeDone(protocol string, state tls.ConnectionState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tlsNs == 0 {
		c.tlsNs = Now()
	}
	c.protocol, c.resumed = protocol, state.DidResume
}

// SetProtocol records the protocol of a connection without TLS.
func (c *Connection) SetProtocol(protocol string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.protocol = protocol
}

// MarkClosed records that the connection takes no more calls.
func (c *Connection) MarkClosed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *Connection) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// A gate lets one call open the connection that all share, while the others wait.
type gate struct {
	mu      sync.Mutex
	shared  *Connection
	opener  *Call
	changed chan struct{} // closed when opener is done
}

// enter returns false once the shared connection is open, or true if this call must open it.
func (g *gate) enter(ctx context.Context, call *Call) (opens bool, err error) {
	for {
		g.mu.Lock()
		if g.shared != nil && g.shared.isOpen() {
			g.mu.Unlock()
			return false, nil
		}
		if g.opener == nil {
			g.opener, g.changed = call, make(chan struct{})
			g.mu.Unlock()
			return true, nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// opened records that this call has the connection, so that the others may use it too.
func (g *gate) opened(call *Call, connection *Connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shared = connection
	g.release(call)
}

// leave records that the call has ended. If it failed to open the connection, another may try.
func (g *gate) leave(call *Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(call)
}

func (g *gate) release(call *Call) {
	if g.opener == call {
		g.opener = nil
		close(g.changed)
	}
}
