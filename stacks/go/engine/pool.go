package engine

import (
	"context"
	"sync"

	"commute/stacks/go/auth"
)

// A Library is one client library, configured for one origin.
type Library interface {
	// Multiplexes reports whether one connection carries all calls.
	Multiplexes() bool
	// Prepare makes the request of a call, ready to be sent.
	Prepare(step Step) (Request, error)
	// NewPool returns an empty pool whose connections are opened in mode.
	NewPool(mode string) ConnectionPool
}

// A Request is made by a Library and sent by its ConnectionPool. It is a Prover. The request of an
// exchange or a submit is a BodySetter, or with parts a PartsSetter.
type Request any

// A BodySetter is a request that gets its body when the call starts.
type BodySetter interface{ SetBody(body []byte) }

// A PartsSetter is a request that gets its body in parts when the call starts.
type PartsSetter interface{ SetParts(parts [][]byte) }

// A Prover is a request that carries proof of who sends it, made once its body is complete.
type Prover interface {
	Prove(credential *auth.Credential) error
}

// A ConnectionPool is a library's connections since the last reconnect.
type ConnectionPool interface {
	// Do sends a request, receives its response and reports what happens to the call. The
	// call ends with its context; Do's result is then ignored.
	Do(ctx context.Context, call *Call, request Request) error
	// Close closes every connection. No call is in flight.
	Close()
}

// pool counts the calls on a ConnectionPool. Once retired, it closes with the last of them.
type pool struct {
	ConnectionPool
	gate    *gate // nil if each call in flight has its own connection
	counter *connectionCounter
	mu      sync.Mutex
	calls   int
	retired bool
}

func (p *pool) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
}

func (p *pool) leave() {
	p.mu.Lock()
	p.calls--
	last := p.retired && p.calls == 0
	p.mu.Unlock()
	if last {
		p.Close()
	}
}

// retire closes the pool, or lets the last of its calls close it.
func (p *pool) retire() {
	p.mu.Lock()
	p.retired = true
	idle := p.calls == 0
	p.mu.Unlock()
	if idle {
		p.Close()
	}
}

// do makes one call, waiting first if another is opening the connection to share.
func (p *pool) do(ctx context.Context, call *Call, request Request) error {
	if p.gate != nil {
		var err error
		if call.opensConnection, err = p.gate.enter(ctx, call); err != nil {
			return err
		}
		defer p.gate.leave(call)
	}
	return p.Do(ctx, call, request)
}

// connectionCounter numbers the connections of a session that carry calls.
type connectionCounter struct {
	mu   sync.Mutex
	last int
}

// assignNumber returns the connection's number, and whether this call is the first it carries.
func (p *pool) assignNumber(connection *Connection, call *Call) (number int, first bool) {
	p.counter.mu.Lock()
	defer p.counter.mu.Unlock()
	if connection.user == nil {
		p.counter.last++
		connection.user, connection.number = call, p.counter.last
	}
	return connection.number, connection.user == call
}
