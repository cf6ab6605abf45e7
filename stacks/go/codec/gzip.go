package codec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"commute/stacks/go/message"
)

// maxDecompressed bounds the output of a decompressor.
const maxDecompressed = 64 << 20

// gzipCodec reuses its compressor and decompressor, whose state is larger than most messages.
type gzipCodec struct {
	Codec
	writer *gzip.Writer
	reader gzip.Reader
}

func withGzip(inner func(message.Kind) Codec, level int) func(message.Kind) Codec {
	return func(kind message.Kind) Codec {
		writer, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // an invalid level in the table of offers
		}
		return &gzipCodec{Codec: inner(kind), writer: writer}
	}
}

func (c *gzipCodec) Encode(own any) ([]byte, error) {
	plain, err := c.Codec.Encode(own)
	if err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	c.writer.Reset(&encoded)
	if _, err := c.writer.Write(plain); err != nil {
		return nil, err
	}
	err = c.writer.Close()
	return encoded.Bytes(), err
}

func (c *gzipCodec) Decode(encoded []byte) (any, error) {
	if err := c.reader.Reset(bytes.NewReader(encoded)); err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(&c.reader, maxDecompressed+1))
	if err == nil && len(plain) > maxDecompressed {
		err = fmt.Errorf("gzip: decompressed to more than %d bytes", maxDecompressed)
	}
	if err != nil {
		return nil, err
	}
	return c.Codec.Decode(plain)
}
