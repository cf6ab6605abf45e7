package engine

import (
	"context"
	"sync"
)

// A Library is one client library, set up for one origin.
type Library interface {
	// Shares says that one connection carries all calls.
	Shares() bool
	// Prepare makes the request of a call, ready to be sent.
	Prepare(step Step) (Request, error)
	// Wires returns means to open connections in a mode; it opens none.
	Wires(mode string) Wires
}

// A Request is what a Library prepared and its Wires understand. That of an exchange is a
// Carrier.
type Request any

// A Carrier is a request that is given its body when the call begins.
type Carrier interface{ Carry(body []byte) }

// Wires are a library's connections since the last reconnect.
type Wires interface {
	// Do sends a request, receives its response and tells the call what happens. When the
	// context ends, so does the call; what Do returns then does not matter.
	Do(ctx context.Context, call *Call, request Request) error
	// Close closes every connection. No call is under way.
	Close()
}

// wires counts the calls of a library's Wires, which close with the last of them.
type wires struct {
	Wires
	gate    *gate // nil where each call under way has its own connection
	numbers *numbers
	mu      sync.Mutex
	calls   int
	retired bool
}

func (w *wires) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
}

func (w *wires) leave() {
	w.mu.Lock()
	w.calls--
	last := w.retired && w.calls == 0
	w.mu.Unlock()
	if last {
		w.Close()
	}
}

// retire lets no new calls in; connections that still carry some close with the last.
func (w *wires) retire() {
	w.mu.Lock()
	w.retired = true
	idle := w.calls == 0
	w.mu.Unlock()
	if idle {
		w.Close()
	}
}

// do makes one call, waiting where another is opening the connection to share.
func (w *wires) do(ctx context.Context, call *Call, request Request) error {
	if w.gate != nil {
		var err error
		if call.opens, err = w.gate.enter(ctx, call); err != nil {
			return err
		}
		defer w.gate.leave(call)
	}
	return w.Do(ctx, call, request)
}

// numbers counts the connections of a session that carried calls.
type numbers struct {
	mu   sync.Mutex
	last int
}

// number of the connection, and whether this call is the first that it carries.
func (w *wires) number(connection *Connection, call *Call) (number int, first bool) {
	w.numbers.mu.Lock()
	defer w.numbers.mu.Unlock()
	if connection.user == nil {
		w.numbers.last++
		connection.user, connection.number = call, w.numbers.last
	}
	return connection.number, connection.user == call
}
