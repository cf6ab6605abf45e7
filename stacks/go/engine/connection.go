package engine

import (
	"context"
	"crypto/tls"
	"sync"
)

// A Connection is one attempt to open a connection and what came of it.
type Connection struct {
	mu        sync.Mutex
	opener    *Call // on whose behalf the library dialled
	user      *Call // the first that it carried
	number    int   // 0 before it carried any
	localPort int
	protocol  string
	resumed   bool
	closed    bool
	dnsNs     int64
	connectNs int64
	tlsNs     int64
}

// Resolved: the name is known, since now.
func (c *Connection) Resolved() { c.ResolvedAt(Now()) }

// ResolvedAt: the name is known, since then.
func (c *Connection) ResolvedAt(ns int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dnsNs = ns
}

// Bound: the socket has this port.
func (c *Connection) Bound(localPort int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.localPort = localPort
}

// Connected: TCP is connected, since now.
func (c *Connection) Connected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connectNs = Now()
}

// Secured: the handshake is done, since now unless that was said before.
func (c *Connection) Secured(protocol string, state tls.ConnectionState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tlsNs == 0 {
		c.tlsNs = Now()
	}
	c.protocol, c.resumed = protocol, state.DidResume
}

// Closed: it carries no more calls.
func (c *Connection) Closed() {
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

// enter returns when the shared connection is open, or true when this call is to open it.
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

// opened: this call has the connection, so the others may use it too.
func (g *gate) opened(call *Call, connection *Connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shared = connection
	g.release(call)
}

// leave: the call has ended. If it was to open the connection and did not, another may try.
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
