package codec

import (
	"encoding/json"

	"commute/stacks/go/message"
)

type jsonCodec struct {
	identity
	kind message.Kind
}

func newJSON(kind message.Kind) Codec { return jsonCodec{kind: kind} }

func (jsonCodec) Encode(own any) ([]byte, error) { return json.Marshal(own) }

func (c jsonCodec) Decode(encoded []byte) (any, error) {
	own := c.kind.New()
	return own, json.Unmarshal(encoded, own)
}
