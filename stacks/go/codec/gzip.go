package codec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"commute/stacks/go/message"
)

// longest is what may come out of a decompressor.
const longest = 64 << 20

// gzipCodec keeps compressor and decompressor, whose state is larger than most messages.
type gzipCodec struct {
	Codec
	writer *gzip.Writer
	reader gzip.Reader
}

func gzipped(inner func(message.Kind) Codec, level int) func(message.Kind) Codec {
	return func(kind message.Kind) Codec {
		writer, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // the level, from the table of offers
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
	plain, err := io.ReadAll(io.LimitReader(&c.reader, longest+1))
	if err == nil && len(plain) > longest {
		err = fmt.Errorf("more than %d bytes came out of gzip", longest)
	}
	if err != nil {
		return nil, err
	}
	return c.Codec.Decode(plain)
}
