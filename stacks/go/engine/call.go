package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"commute/stacks/go/exchange"
)

// A Call is one request under way, and what was seen of it. A library's callbacks may come
// from any goroutine, and late: what comes after the end is not part of the call.
type Call struct {
	mu         sync.Mutex
	row        Row
	ended      bool
	connection *Connection // that carries it, or else was dialled for it
	dialled    *Connection
	wires      *wires
	opens      bool
	body       []Part
	exchange   *exchange.Exchange // nil where it is none
}

// ID is the step's.
func (c *Call) ID() uint32 { return c.row.ID }

// Dial notes that the library opens a connection on behalf of this call.
func (c *Call) Dial() *Connection {
	connection := &Connection{opener: c}
	c.mu.Lock() // also after the end: libraries go on dialling for other calls
	defer c.mu.Unlock()
	c.dialled = connection
	if c.row.Connection == 0 {
		c.connection = connection
	}
	return connection
}

// Dialled is the connection that the library opens on behalf of this call.
func (c *Call) Dialled() *Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialled
}

// On notes that the call goes over this connection. A repeated attempt forgets the last.
func (c *Call) On(connection *Connection) {
	number, first := c.wires.number(connection, c)
	c.edit(func() {
		c.connection = connection
		c.row.Connection, c.row.Reused = number, !first
		c.row.RequestSentNs, c.row.FirstByteNs, c.row.RequestBytes = 0, 0, 0
	})
	if c.wires.gate != nil {
		c.wires.gate.opened(c, connection)
	}
}

// Sent counts an attempt: the request's head was handed to the transport.
func (c *Call) Sent() { c.edit(func() { c.row.Attempts++ }) }

// SentEarly notes that the request went as early data that was accepted.
func (c *Call) SentEarly() { c.edit(func() { c.row.EarlyData = true }) }

// RequestSent: all of the request, or its last message so far, was handed to the transport.
func (c *Call) RequestSent() { c.edit(func() { c.row.RequestSentNs = Now() }) }

// FirstByte: the response has begun.
func (c *Call) FirstByte() {
	c.edit(func() {
		if c.row.FirstByteNs == 0 {
			c.row.FirstByteNs = Now()
		}
	})
}

// Status is what the server said.
func (c *Call) Status(status int) { c.edit(func() { c.row.Status = &status }) }

// CountSent counts bytes of the request's body.
func (c *Call) CountSent(bytes int) { c.edit(func() { c.row.RequestBytes += int64(bytes) }) }

// Opens says that the others wait for this call to open the connection.
func (c *Call) Opens() bool { return c.opens }

// A Part of a response's body has its wire form made after the call, where it is digested.
type Part interface{ Wire() []byte }

// Bytes are a part that came in its wire form.
type Bytes []byte

// Wire is the same bytes.
func (b Bytes) Wire() []byte { return b }

// Receive keeps a part of the response's body. Only the call's own goroutine may.
func (c *Call) Receive(part Part) { c.body = append(c.body, part) }

// ReadAll keeps all of a response's body.
func (c *Call) ReadAll(body io.Reader) error {
	const first, largest = 512, 64 << 10 // io.ReadAll begins with as much
	var block []byte
	for {
		if len(block) == cap(block) {
			block = make([]byte, 0, max(first, min(2*cap(block), largest)))
		}
		n, err := body.Read(block[len(block):cap(block)])
		if n > 0 {
			c.Receive(Bytes(block[len(block) : len(block)+n]))
			block = block[:len(block)+n]
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *Call) edit(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		change()
	}
}

// end closes the record. The phases are the opener's alone, as far as they have come.
func (c *Call) end(err error) {
	c.edit(func() {
		c.row.EndNs, c.ended = Now(), true
		c.row.Error = asCallError(err)
		connection := c.connection
		if connection == nil {
			return
		}
		connection.mu.Lock()
		defer connection.mu.Unlock()
		c.row.LocalPort, c.row.Resumed = connection.localPort, connection.resumed
		if c.row.Connection > 0 {
			c.row.Protocol = connection.protocol
		}
		if connection.opener == c {
			c.row.DNSNs, c.row.ConnectNs, c.row.TLSNs = connection.dnsNs, connection.connectNs, connection.tlsNs
		}
	})
}

// finish digests the body and compares the messages, which is no part of the call.
func (c *Call) finish() Row {
	digest := sha256.New()
	for _, part := range c.body {
		wire := part.Wire()
		digest.Write(wire)
		c.row.ResponseBytes += int64(len(wire))
	}
	if c.row.FirstByteNs > 0 {
		c.row.Digest = hex.EncodeToString(digest.Sum(nil))
	}
	c.body = nil
	if c.exchange != nil && c.row.Error == nil {
		if err := c.exchange.Compare(); err != nil {
			c.row.Error = Fail("protocol", err)
		}
	}
	return c.row
}

// encode makes the message of an exchange and its body, as the call begins.
func (c *Call) encode(request Request) error {
	if c.exchange == nil {
		return nil
	}
	if c.exchange.Create() {
		c.edit(func() { c.row.CreatedNs = Now() })
	}
	body, err := c.exchange.Encode()
	if err != nil {
		return err
	}
	c.edit(func() { c.row.EncodedNs = Now() })
	request.(Carrier).Carry(body)
	return nil
}

// decode makes a message of the answer to an exchange, with which the call ends.
func (c *Call) decode() error {
	if c.exchange == nil {
		return nil
	}
	c.edit(func() { c.row.ReceivedNs = Now() })
	if len(c.body) != 1 {
		return &CallError{"protocol", "the answer has no message"}
	}
	if err := c.exchange.Decode(c.body[0].Wire()); err != nil {
		return Fail("protocol", err)
	}
	return nil
}

type callKey struct{}

// WithCall returns a context by which a library's callbacks find the call.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf is the call of a context that has one.
func CallOf(ctx context.Context) *Call {
	return ctx.Value(callKey{}).(*Call)
}
