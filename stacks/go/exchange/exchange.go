// Package exchange is an app's work around a call that takes a message there and back: to make
// it, to encode it, to decode the answer. Between them lies the network, which is not here.
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

// A Source has the messages that a setup names, in one codec.
type Source struct {
	codec string
	texts map[string][]byte // of value files, by name of the message
	mu    sync.Mutex
	plain map[key]any
	pools map[string]*pool // by kind
}

type key struct{ message, kind string }

// New reads the value files of messages.
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

// Codec is the one that messages are exchanged in.
func (s *Source) Codec() string { return s.codec }

// ErrUnknown is why a kind of message cannot be exchanged.
var ErrUnknown = errors.New("the driver knows no such kind of message")

// Prepare readies the exchange of a message. Nothing is encoded yet, and big-N is not even
// made: that is part of its exchange.
func (s *Source) Prepare(name, kindName string) (*Exchange, error) {
	kind, found := message.Find(kindName)
	if !found {
		return nil, fmt.Errorf("%w as %s", ErrUnknown, kindName)
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
			return nil, fmt.Errorf("message %s has no size", name)
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
			return nil, fmt.Errorf("setup named no value file of %s", name)
		}
		plain, err := message.ReadValue(kind, text)
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", name, err)
		}
		s.plain[at] = plain
	}
	return s.plain[at], nil
}

// An Exchange is of one message, once.
type Exchange struct {
	codecs *pool
	make   func() any // nil where the message was ready
	plain  any
	back   any
}

// Create makes the message; false if it was ready.
func (x *Exchange) Create() bool {
	if x.make == nil {
		return false
	}
	x.plain = x.make()
	return true
}

// Encode makes the body to send.
func (x *Exchange) Encode() ([]byte, error) {
	c := x.codecs.take()
	defer x.codecs.give(c)
	return c.Encode(c.Populate(x.plain))
}

// Decode makes a message of the body received.
func (x *Exchange) Decode(body []byte) error {
	c := x.codecs.take()
	defer x.codecs.give(c)
	own, err := c.Decode(body)
	if err != nil {
		return err
	}
	x.back = c.Convert(own)
	return nil
}

// Compare tells whether the message that came back is the one that was sent.
func (x *Exchange) Compare() error {
	sent, err := message.WriteValue(x.plain)
	if err != nil {
		return err
	}
	back, err := message.WriteValue(x.back)
	if err == nil && !bytes.Equal(sent, back) {
		err = errors.New("the echo differs")
	}
	return err
}

// pool keeps codecs with their contexts, one for each exchange under way.
type pool struct {
	kind message.Kind
	new  func(message.Kind) codec.Codec
	mu   sync.Mutex
	idle []codec.Codec
}

func (p *pool) take() codec.Codec {
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

func (p *pool) give(c codec.Codec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}
