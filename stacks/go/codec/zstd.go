package codec

import (
	"io"

	"github.com/klauspost/compress/zstd"

	"commute/stacks/go/message"
)

// zstdCodec reuses its encoder and decoder on whole messages, as the library recommends.
type zstdCodec struct {
	Codec
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func withZstd(inner func(message.Kind) Codec) func(message.Kind) Codec {
	return func(kind message.Kind) Codec {
		// Single-segment frames always state their content's length, however short. Decoders that
		// allocate the output beforehand need it (zstd-jni's byte arrays).
		encoder, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)), zstd.WithSingleSegment(true))
		if err != nil {
			panic(err) // invalid options
		}
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDecompressed))
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
		return nil, io.ErrUnexpectedEOF // DecodeAll would take it for an empty message
	}
	plain, err := c.decoder.DecodeAll(encoded, nil)
	if err != nil {
		return nil, err
	}
	return c.Codec.Decode(plain)
}
