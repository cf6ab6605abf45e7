package codec

import (
	"github.com/tinylib/msgp/msgp"

	"commute/stacks/go/message"
)

// generatedMsgpack calls the messages' methods that tinylib/msgp generated.
type generatedMsgpack struct {
	identity
	kind message.Kind
}

func newGeneratedMsgpack(kind message.Kind) Codec { return generatedMsgpack{kind: kind} }

func (generatedMsgpack) Encode(own any) ([]byte, error) {
	return own.(msgp.Marshaler).MarshalMsg(nil)
}

func (c generatedMsgpack) Decode(encoded []byte) (any, error) {
	own := c.kind.New()
	rest, err := own.(msgp.Unmarshaler).UnmarshalMsg(encoded)
	if err == nil && len(rest) > 0 {
		err = errTrailing
	}
	return own, err
}
