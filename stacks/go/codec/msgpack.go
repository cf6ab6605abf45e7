package codec

import (
	"errors"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"commute/stacks/go/message"
)

// msgpack reuses HashiCorp's encoder and decoder, which are designed to be reset.
type msgpack struct {
	identity
	kind    message.Kind
	encoder *codec.Encoder
	decoder *codec.Decoder
}

func newMsgpack(kind message.Kind) Codec {
	return newMsgpackWith(kind, &codec.MsgpackHandle{WriteExt: true})
}

func newMsgpackArray(kind message.Kind) Codec {
	handle := &codec.MsgpackHandle{WriteExt: true}
	handle.StructToArray = true
	return newMsgpackWith(kind, handle)
}

// newMsgpackOld leaves WriteExt unset, which selects the specification from before 2013.
func newMsgpackOld(kind message.Kind) Codec {
	return newMsgpackWith(kind, &codec.MsgpackHandle{})
}

func newMsgpackWith(kind message.Kind, handle *codec.MsgpackHandle) Codec {
	return &msgpack{
		kind:    kind,
		encoder: codec.NewEncoderBytes(new([]byte), handle),
		decoder: codec.NewDecoderBytes(nil, handle),
	}
}

func (c *msgpack) Encode(own any) ([]byte, error) {
	var encoded []byte
	c.encoder.ResetBytes(&encoded)
	err := c.encoder.Encode(own)
	return encoded, err
}

func (c *msgpack) Decode(encoded []byte) (any, error) {
	own := c.kind.New()
	c.decoder.ResetBytes(encoded)
	err := c.decoder.Decode(own)
	if err == nil && c.decoder.NumBytesRead() < len(encoded) {
		err = errTrailing
	}
	return own, err
}

var errTrailing = errors.New("trailing bytes after the message")
