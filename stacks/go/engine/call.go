package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"commute/stacks/go/auth"
	"commute/stacks/go/exchange"
)

// A Call is one request in flight and everything observed about it. Library callbacks may
// arrive from any goroutine, and late: anything after the end is ignored.
type Call struct {
	mu              sync.Mutex
	row             Row
	ended           bool
	connection      *Connection // the one that carries the call, or else the one dialled for it
	dialled         *Connection
	pool            *pool
	opensConnection bool
	body            []BodyPart
	exchange        *exchange.Exchange // nil if the step sends no message of the codec bench
	oneWay          bool               // whether the answer is no message of the codec bench
}

// ID returns the id of the call's step.
func (c *Call) ID() uint32 { return c.row.ID }

// NewConnection records that the library starts opening a connection for this call.
func (c *Call) NewConnection() *Connection {
	connection := &Connection{opener: c}
	c.mu.Lock() // even after the end: libraries keep dialling on behalf of other calls
	defer c.mu.Unlock()
	c.dialled = connection
	if c.row.Connection == 0 {
		c.connection = connection
	}
	return connection
}

// DialledConnection returns the connection that the library opens for this call.
func (c *Call) DialledConnection() *Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialled
}

// UseConnection records that the call goes over this connection. A repeated attempt
// overwrites the previous one.
func (c *Call) UseConnection(connection *Connection) {
	number, first := c.pool.assignNumber(connection, c)
	c.edit(func() {
		c.connection = connection
		c.row.Connection, c.row.Reused = number, !first
		c.row.RequestSentNs, c.row.FirstByteNs, c.row.RequestBytes = 0, 0, 0
	})
	if c.pool.gate != nil {
		c.pool.gate.opened(c, connection)
	}
}

// CountAttempt records that the request's headers were handed to the transport.
func (c *Call) CountAttempt() { c.edit(func() { c.row.Attempts++ }) }

// MarkEarlyData records that the request went as early data that was accepted.
func (c *Call) MarkEarlyData() { c.edit(func() { c.row.EarlyData = true }) }

// StampRequestSent records that the whole request, or its last message so far, was handed to
// the transport.
func (c *Call) StampRequestSent() { c.edit(func() { c.row.RequestSentNs = Now() }) }

// StampFirstByte records the start of the response; only the first stamp counts.
func (c *Call) StampFirstByte() {
	c.edit(func() {
		if c.row.FirstByteNs == 0 {
			c.row.FirstByteNs = Now()
		}
	})
}

// SetStatus records the status that the server sent.
func (c *Call) SetStatus(status int) { c.edit(func() { c.row.Status = &status }) }

// AddRequestBytes counts bytes of the request's body.
func (c *Call) AddRequestBytes(bytes int) { c.edit(func() { c.row.RequestBytes += int64(bytes) }) }

// OpensConnection reports whether the others wait for this call to open the connection.
func (c *Call) OpensConnection() bool { return c.opensConnection }

// A BodyPart is part of a response's body. Its wire form is made when it is digested, after
// the call.
type BodyPart interface{ WireBytes() []byte }

// RawPart is a part that arrived in its wire form.
type RawPart []byte

// WireBytes returns the same bytes.
func (p RawPart) WireBytes() []byte { return p }

// Receive keeps a part of the response's body. Only the call's own goroutine may call it.
func (c *Call) Receive(part BodyPart) { c.body = append(c.body, part) }

// ReadAll keeps the whole body of a response.
func (c *Call) ReadAll(body io.Reader) error {
	const first, largest = 512, 64 << 10 // io.ReadAll starts with 512 too
	var block []byte
	for {
		if len(block) == cap(block) {
			block = make([]byte, 0, max(first, min(2*cap(block), largest)))
		}
		n, err := body.Read(block[len(block):cap(block)])
		if n > 0 {
			c.Receive(RawPart(block[len(block) : len(block)+n]))
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

// end closes the row. Only the opener reports the connection's phases, as far as they got.
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

// finish digests the body and compares the messages. Neither is part of the call.
func (c *Call) finish() Row {
	digest := sha256.New()
	for _, part := range c.body {
		bytes := part.WireBytes()
		digest.Write(bytes)
		c.row.ResponseBytes += int64(len(bytes))
	}
	if c.row.FirstByteNs > 0 {
		c.row.Digest = hex.EncodeToString(digest.Sum(nil))
	}
	c.body = nil
	if c.exchange != nil && !c.oneWay && c.row.Error == nil {
		if err := c.exchange.Compare(); err != nil {
			c.row.Error = NewCallError("protocol", err)
		}
	}
	return c.row
}

// encode makes the message of an exchange and its body, or of a submit its parts, at the start of
// the call.
func (c *Call) encode(request Request, chunkBytes uint64) error {
	if c.exchange == nil {
		return nil
	}
	if c.exchange.Create() {
		c.edit(func() { c.row.CreatedNs = Now() })
	}
	var body []byte
	var parts [][]byte
	var err error
	if chunkBytes > 0 {
		parts, err = c.exchange.EncodeParts(chunkBytes)
	} else {
		body, err = c.exchange.Encode()
	}
	if err != nil {
		return err
	}
	c.edit(func() { c.row.EncodedNs = Now() })
	if chunkBytes > 0 {
		request.(PartsSetter).SetParts(parts)
	} else {
		request.(BodySetter).SetBody(body)
	}
	return nil
}

// prove lets the request prove who sends it.
func (c *Call) prove(request Request, credential *auth.Credential) error {
	if credential == nil {
		return nil
	}
	if err := request.(Prover).Prove(credential); err != nil {
		return err
	}
	if credential.Signs() {
		c.edit(func() { c.row.SignedNs = Now() })
	}
	return nil
}

// decode decodes the answer to an exchange, which ends the call.
func (c *Call) decode() error {
	if c.exchange == nil || c.oneWay {
		return nil
	}
	c.edit(func() { c.row.ReceivedNs = Now() })
	if len(c.body) != 1 {
		return &CallError{"protocol", "the answer has no message"}
	}
	if err := c.exchange.Decode(c.body[0].WireBytes()); err != nil {
		return NewCallError("protocol", err)
	}
	return nil
}

type callKey struct{}

// WithCall returns a context in which a library's callbacks find the call.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the call of a context made by WithCall.
func CallOf(ctx context.Context) *Call {
	return ctx.Value(callKey{}).(*Call)
}
