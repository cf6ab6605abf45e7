package exchange

import (
	"sync"
	"time"

	"commute/stacks/go/codec"
	"commute/stacks/go/message"
)

// Find returns the codec of a content type and a content encoding. Of several libraries it returns
// the last, which for MessagePack also reads floats that a client wrote as doubles.
func Find(contentType, contentEncoding string) (found codec.Offer, ok bool) {
	if contentEncoding == "" {
		contentEncoding = Identity
	}
	for _, offer := range codec.Offers() {
		hasType, hasEncoding := MediaType(offer.Codec)
		if hasType != "" && hasType == contentType && hasEncoding == contentEncoding {
			found, ok = offer, true
		}
	}
	return found, ok
}

// An Answerer is the server's side of exchanges. It keeps codecs for reuse.
type Answerer struct {
	mu    sync.Mutex
	pools map[key]*pool // by codec and kind of message
}

// An Answer is a message that was decoded and encoded again.
type Answer struct {
	Body               []byte
	Codec              string
	DecodeNs, EncodeNs int64
}

// Decode decodes a message, including its compression, and returns how long that took.
func (a *Answerer) Decode(offer codec.Offer, kind message.Kind, body []byte) (decodeNs int64, err error) {
	codecs := a.pool(offer, kind)
	c := codecs.get()
	defer codecs.put(c)
	start := time.Now()
	_, err = c.Decode(body)
	return time.Since(start).Nanoseconds(), err
}

// Answer decodes a message and encodes it again, each with its compression.
func (a *Answerer) Answer(offer codec.Offer, kind message.Kind, body []byte) (Answer, error) {
	codecs := a.pool(offer, kind)
	c := codecs.get()
	defer codecs.put(c)
	start := time.Now()
	own, err := c.Decode(body)
	if err != nil {
		return Answer{}, err
	}
	decoded := time.Now()
	answer, err := c.Encode(own)
	return Answer{
		Body:     answer,
		Codec:    offer.Codec,
		DecodeNs: decoded.Sub(start).Nanoseconds(),
		EncodeNs: time.Since(decoded).Nanoseconds(),
	}, err
}

func (a *Answerer) pool(offer codec.Offer, kind message.Kind) *pool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := key{offer.Codec, kind.Name}
	if a.pools == nil {
		a.pools = map[key]*pool{}
	}
	if a.pools[at] == nil {
		a.pools[at] = &pool{kind: kind, new: offer.New}
	}
	return a.pools[at]
}
