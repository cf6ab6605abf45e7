package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"commute/stacks/go/codec"
	"commute/stacks/go/message"
)

// bench keeps the codecs that were asked for, and the values that were read last.
type bench struct {
	offers []codec.Offer
	codecs map[codecKey]codec.Codec
	values []value
}

type codecKey struct{ codec, library, message string }

// A value is one message as it was read from a file.
type value struct {
	file, message string
	plain         any
}

const (
	valuesKept     = 32
	longestEncoded = 64 << 20
)

func (b *bench) encode(r request) any {
	c, kind, _, problem := b.find(r)
	if problem != nil {
		return problem
	}
	plain, err := b.read(kind, r.ValueFile)
	if err != nil {
		return failed(err)
	}
	encoded, err := encode(c, plain)
	if err != nil {
		return refused(err)
	}
	if err := os.WriteFile(r.EncodedFile, encoded, 0o644); err != nil {
		return failed(err)
	}
	return map[string]any{"type": "encoded", "bytes": len(encoded)}
}

func (b *bench) decode(r request) any {
	c, kind, _, problem := b.find(r)
	if problem != nil {
		return problem
	}
	encoded, err := readEncoded(r.EncodedFile)
	if err != nil {
		return failed(err)
	}
	if len(encoded) > longestEncoded {
		return refused(fmt.Errorf("longer than %d bytes", longestEncoded))
	}
	plain, err := decode(c, encoded)
	if err != nil {
		return refused(fmt.Errorf("no %s: %w", kind.Name, err))
	}
	text, err := message.WriteValue(plain)
	if err != nil {
		return refused(err)
	}
	if err := os.WriteFile(r.ValueFile, text, 0o644); err != nil {
		return failed(err)
	}
	return map[string]any{"type": "decoded"}
}

func (b *bench) time(r request) any {
	c, kind, offer, problem := b.find(r)
	if problem != nil {
		return problem
	}
	if !slices.Contains(offer.Parts, r.Part) {
		return unsupported("part "+r.Part, fmt.Sprintf("%s has %v", offer.Library, offer.Parts))
	}
	if r.Iterations < 1 {
		return failed(fmt.Errorf("%d iterations cannot be timed", r.Iterations))
	}
	plain, err := b.value(kind, r.ValueFile)
	if err != nil {
		return failed(err)
	}
	var encoded []byte
	if r.EncodedFile != "" {
		if encoded, err = readEncoded(r.EncodedFile); err != nil {
			return failed(err)
		}
	}
	timed, err := measure(c, r, plain, encoded)
	if err != nil {
		return refused(err)
	}
	return timed
}

// find returns what a request names, or the reply that says what of it is not there.
func (b *bench) find(r request) (c codec.Codec, kind message.Kind, offer codec.Offer, problem any) {
	if !slices.ContainsFunc(b.offers, func(o codec.Offer) bool { return o.Codec == r.Codec }) {
		return nil, kind, offer, unsupported("codec "+r.Codec, "no library here has it")
	}
	at := slices.IndexFunc(b.offers, func(o codec.Offer) bool {
		return o.Codec == r.Codec && o.Library == r.Library
	})
	if at < 0 {
		return nil, kind, offer, unsupported("library "+r.Library, "it is not offered for "+r.Codec)
	}
	kind, found := message.Find(r.Message)
	if !found {
		return nil, kind, offer, unsupported("message "+r.Message, "the runner does not know it")
	}
	key := codecKey{r.Codec, r.Library, r.Message}
	if b.codecs[key] == nil {
		b.codecs[key] = b.offers[at].New(kind)
	}
	return b.codecs[key], kind, b.offers[at], nil
}

// value is what a file holds, read when it was last asked for or now.
func (b *bench) value(kind message.Kind, file string) (any, error) {
	for _, kept := range b.values {
		if kept.file == file && kept.message == kind.Name {
			return kept.plain, nil
		}
	}
	return b.read(kind, file)
}

// read reads a value file and keeps what it holds.
func (b *bench) read(kind message.Kind, file string) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plain, err := message.ReadValue(kind, text)
	if err != nil {
		return nil, err
	}
	b.values = slices.DeleteFunc(b.values, func(v value) bool { return v.file == file })
	if len(b.values) == valuesKept {
		b.values = slices.Delete(b.values, 0, 1)
	}
	b.values = append(b.values, value{file, kind.Name, plain})
	return plain, nil
}

// readEncoded reads one byte more than may be decoded, and no more than that.
func readEncoded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, longestEncoded+1))
}
