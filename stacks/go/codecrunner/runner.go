package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"commute/stacks/go/codec"
	"commute/stacks/go/message"
)

const (
	maxValues  = 32       // in the cache
	maxEncoded = 64 << 20 // bytes that may be decoded
)

// A runner keeps the codecs it has made and the values it has read most recently.
type runner struct {
	offers []codec.Offer
	codecs map[codecKey]codec.Codec
	values []value
}

type codecKey struct{ codec, library, message string }

// A value is one message, as read from a file.
type value struct {
	file, message string
	plain         any
}

func (r *runner) encode(req request) any {
	c, kind, _, refusal := r.find(req)
	if refusal != nil {
		return refusal
	}
	plain, err := r.read(kind, req.ValueFile)
	if err != nil {
		return failed(err)
	}
	encoded, err := encode(c, plain)
	if err != nil {
		return refused(err)
	}
	if err := os.WriteFile(req.EncodedFile, encoded, 0o644); err != nil {
		return failed(err)
	}
	return map[string]any{"type": "encoded", "bytes": len(encoded)}
}

func (r *runner) decode(req request) any {
	c, kind, _, refusal := r.find(req)
	if refusal != nil {
		return refusal
	}
	encoded, err := readEncoded(req.EncodedFile)
	if err != nil {
		return failed(err)
	}
	if len(encoded) > maxEncoded {
		return refused(fmt.Errorf("more than %d bytes", maxEncoded))
	}
	plain, err := decode(c, encoded)
	if err != nil {
		return refused(fmt.Errorf("not a %s: %w", kind.Name, err))
	}
	text, err := message.WriteValue(plain)
	if err != nil {
		return refused(err)
	}
	if err := os.WriteFile(req.ValueFile, text, 0o644); err != nil {
		return failed(err)
	}
	return map[string]any{"type": "decoded"}
}

func (r *runner) time(req request) any {
	c, kind, offer, refusal := r.find(req)
	if refusal != nil {
		return refusal
	}
	if !slices.Contains(offer.Parts, req.Part) {
		return unsupported("part "+req.Part, fmt.Sprintf("%s has only %v", offer.Library, offer.Parts))
	}
	if req.Iterations < 1 {
		return failed(fmt.Errorf("iterations is %d", req.Iterations))
	}
	plain, err := r.value(kind, req.ValueFile)
	if err != nil {
		return failed(err)
	}
	var encoded []byte
	if req.EncodedFile != "" {
		if encoded, err = readEncoded(req.EncodedFile); err != nil {
			return failed(err)
		}
	}
	timed, err := measure(c, req, plain, encoded)
	if err != nil {
		return refused(err)
	}
	return timed
}

// find returns what a request names, or else the reply that refuses it.
func (r *runner) find(req request) (c codec.Codec, kind message.Kind, offer codec.Offer, refusal any) {
	if !slices.ContainsFunc(r.offers, func(o codec.Offer) bool { return o.Codec == req.Codec }) {
		return nil, kind, offer, unsupported("codec "+req.Codec, "no library of this runner has it")
	}
	at := slices.IndexFunc(r.offers, func(o codec.Offer) bool {
		return o.Codec == req.Codec && o.Library == req.Library
	})
	if at < 0 {
		return nil, kind, offer, unsupported("library "+req.Library, "not offered for "+req.Codec)
	}
	kind, found := message.Find(req.Message)
	if !found {
		return nil, kind, offer, unsupported("message "+req.Message, "unknown to this runner")
	}
	key := codecKey{req.Codec, req.Library, req.Message}
	if r.codecs[key] == nil {
		r.codecs[key] = r.offers[at].New(kind)
	}
	return r.codecs[key], kind, r.offers[at], nil
}

// value returns the message in a file, from the cache if it is there.
func (r *runner) value(kind message.Kind, file string) (any, error) {
	for _, kept := range r.values {
		if kept.file == file && kept.message == kind.Name {
			return kept.plain, nil
		}
	}
	return r.read(kind, file)
}

// read reads a value file and caches its message.
func (r *runner) read(kind message.Kind, file string) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plain, err := message.ReadValue(kind, text)
	if err != nil {
		return nil, err
	}
	r.values = slices.DeleteFunc(r.values, func(v value) bool { return v.file == file })
	if len(r.values) == maxValues {
		r.values = slices.Delete(r.values, 0, 1)
	}
	r.values = append(r.values, value{file, kind.Name, plain})
	return plain, nil
}

// readEncoded reads at most one byte more than may be decoded.
func readEncoded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxEncoded+1))
}
