package codec

import (
	"github.com/fxamacker/cbor/v2"

	"commute/stacks/go/message"
)

type cborCodec struct {
	identity
	kind message.Kind
}

func newCBOR(kind message.Kind) Codec { return cborCodec{kind: kind} }

func (cborCodec) Encode(own any) ([]byte, error) { return cbor.Marshal(own) }

func (c cborCodec) Decode(encoded []byte) (any, error) {
	own := c.kind.New()
	return own, cbor.Unmarshal(encoded, own)
}
