// Package exchange does an app's work around a call that sends and receives a message: making
// the message, encoding it, and decoding the answer. It does not touch the network.
package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"commute/stacks/go/codec"
	"commute/stacks/go/message"
)

// A Source holds the messages of a setup, in one codec.
type Source struct {
	codec string
	texts map[string][]byte // value files by message name
	mu    sync.Mutex
	plain map[key]any
	pools map[string]*pool // by kind of message
}

type key struct{ message, kind string }

// New reads the messages' value files.
func New(codec string, files map[string]string) (*Source, error) {
	s := &Source{codec: codec, texts: map[string][]byte{}, plain: map[key]any{}, pools: map[string]*pool{}}
	for message, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s.texts[message] = text
	}
	return s, nil
}

// Codec returns the name of the codec that messages are exchanged in.
func (s *Source) Codec() string { return s.codec }

// ErrUnknownKind is returned for a kind of message that is not in the schema.
var ErrUnknownKind = errors.New("unknown kind of message")

// Prepare returns the exchange of a message. Nothing is encoded yet, and big-N is not even made:
// both are part of the exchange.
func (s *Source) Prepare(name, kindName string) (*Exchange, error) {
	kind, found := message.Find(kindName)
	if !found {
		return nil, fmt.Errorf("%w %s", ErrUnknownKind, kindName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[kindName] == nil {
		s.pools[kindName] = &pool{kind: kind, new: offer(s.codec).New}
	}
	x := &Exchange{codecs: s.pools[kindName]}
	if size, isBig := strings.CutPrefix(name, "big-"); isBig && kindName == "Big" {
		n, err := strconv.ParseInt(size, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("message %s: invalid size", name)
		}
		x.make = func() any { return message.NewBig(int32(n)) }
		return x, nil
	}
	var err error
	x.plain, err = s.value(name, kind)
	return x, err
}

func (s *Source) value(name string, kind message.Kind) (any, error) {
	at := key{name, kind.Name}
	if s.plain[at] == nil {
		text, found := s.texts[name]
		if !found {
			return nil, fmt.Errorf("setup names no value file for message %s", name)
		}
		plain, err := message.ReadValue(kind, text)
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", name, err)
		}
		s.plain[at] = plain
	}
	return s.plain[at], nil
}

// An Exchange sends and receives one message, once.
type Exchange struct {
	codecs   *pool
	make     func() any // nil if the message was made by Prepare
	plain    any
	received any
}

// Create makes the message. It returns false if Prepare already made it.
func (x *Exchange) Create() bool {
	if x.make == nil {
		return false
	}
	x.plain = x.make()
	return true
}

// Encode returns the body to send.
func (x *Exchange) Encode() ([]byte, error) {
	c := x.codecs.get()
	defer x.codecs.put(c)
	return c.Encode(c.Populate(x.plain))
}

// EncodeParts returns the body in parts: each a Diag with the next bytes of the payload, at most n.
func (x *Exchange) EncodeParts(n uint64) ([][]byte, error) {
	whole, isDiag := x.plain.(*message.Diag)
	if !isDiag {
		return nil, errors.New("only a Diag can be sent in parts")
	}
	c := x.codecs.get()
	defer x.codecs.put(c)
	var parts [][]byte
	for rest := whole.Payload.Body; len(parts) == 0 || len(rest) > 0; {
		next := rest[:min(uint64(len(rest)), n)]
		rest = rest[len(next):]
		part, err := c.Encode(c.Populate(&message.Diag{CanID: whole.CanID, Payload: message.DiagPayload{Body: next}}))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Decode decodes the body received.
func (x *Exchange) Decode(body []byte) error {
	c := x.codecs.get()
	defer x.codecs.put(c)
	own, err := c.Decode(body)
	if err != nil {
		return err
	}
	x.received = c.Convert(own)
	return nil
}

// Compare returns an error if the message received differs from the one sent.
func (x *Exchange) Compare() error {
	sent, err := message.WriteValue(x.plain)
	if err != nil {
		return err
	}
	received, err := message.WriteValue(x.received)
	if err == nil && !bytes.Equal(sent, received) {
		err = errors.New("the echo differs")
	}
	return err
}

// pool reuses codecs with their contexts, one per exchange in flight.
type pool struct {
	kind message.Kind
	new  func(message.Kind) codec.Codec
	mu   sync.Mutex
	idle []codec.Codec
}

func (p *pool) get() codec.Codec {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return p.new(p.kind)
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

func (p *pool) put(c codec.Codec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}
