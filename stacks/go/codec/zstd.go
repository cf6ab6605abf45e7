package codec

import (
	"io"

	"github.com/klauspost/compress/zstd"

	"commute/stacks/go/message"
)

// zstdCodec keeps encoder and decoder and gives them whole messages, as the library advises.
type zstdCodec struct {
	Codec
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func zstded(inner func(message.Kind) Codec) func(message.Kind) Codec {
	return func(kind message.Kind) Codec {
		// With a single segment, frames tell their content's length however short it is, which
		// decoders that make room for it beforehand ask for (zstd-jni's byte arrays).
		encoder, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)), zstd.WithSingleSegment(true))
		if err != nil {
			panic(err) // the options, which are ours
		}
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(longest))
		if err != nil {
			panic(err)
		}
		return &zstdCodec{inner(kind), encoder, decoder}
	}
}

func (c *zstdCodec) Encode(own any) ([]byte, error) {
	plain, err := c.Codec.Encode(own)
	if err != nil {
		return nil, err
	}
	return c.encoder.EncodeAll(plain, nil), nil
}

func (c *zstdCodec) Decode(encoded []byte) (any, error) {
	if len(encoded) == 0 {
		return nil, io.ErrUnexpectedEOF // to DecodeAll, no frames are an empty message
	}
	plain, err := c.decoder.DecodeAll(encoded, nil)
	if err != nil {
		return nil, err
	}
	return c.Codec.Decode(plain)
}
