package main

import (
	"fmt"
	"runtime"
	"time"

	"commute/stacks/go/codec"
)

// timed is the reply to a time request.
type timed struct {
	Type      string `json:"type"`
	ElapsedNs int64  `json:"elapsed_ns"`
	HeapBytes uint64 `json:"heap_bytes"`
	Sink      int    `json:"sink"`
}

// encode encodes a plain object.
func encode(c codec.Codec, plain any) (encoded []byte, err error) {
	defer recoverPanic(&err)
	return c.Encode(c.Populate(plain))
}

// decode decodes bytes into a plain object.
func decode(c codec.Codec, encoded []byte) (plain any, err error) {
	defer recoverPanic(&err)
	own, err := c.Decode(encoded)
	if err != nil {
		return nil, err
	}
	return c.Convert(own), nil
}

// measure times a part. It makes the part's input before it reads the clock.
func measure(c codec.Codec, req request, plain any, encoded []byte) (reply any, err error) {
	defer recoverPanic(&err)
	var loop func(n int) (sink int, err error)
	switch req.Part {
	case codec.Populate:
		loop = func(n int) (int, error) { return populateLoop(c, plain, n) }
	case codec.Encode:
		own := c.Populate(plain)
		loop = func(n int) (int, error) { return encodeLoop(c, own, n) }
	default:
		if encoded == nil {
			if encoded, err = c.Encode(c.Populate(plain)); err != nil {
				return nil, err
			}
		}
		loop = func(n int) (int, error) { return decodeLoop(c, encoded, n) }
		if req.Part == codec.Convert {
			own, err := c.Decode(encoded)
			if err != nil {
				return nil, err
			}
			loop = func(n int) (int, error) { return convertLoop(c, own, n) }
		}
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	sink, err := loop(req.Iterations)
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		return nil, err
	}
	return timed{"timed", elapsed.Nanoseconds(), after.TotalAlloc - before.TotalAlloc, sink}, nil
}

// The loops sum up their results. The compiler cannot omit calls through an interface.

func populateLoop(c codec.Codec, plain any, n int) (sink int, err error) {
	for range n {
		if c.Populate(plain) != nil {
			sink++
		}
	}
	return sink, nil
}

func encodeLoop(c codec.Codec, own any, n int) (sink int, err error) {
	for range n {
		encoded, err := c.Encode(own)
		if err != nil {
			return sink, err
		}
		sink += len(encoded)
	}
	return sink, nil
}

func decodeLoop(c codec.Codec, encoded []byte, n int) (sink int, err error) {
	for range n {
		own, err := c.Decode(encoded)
		if err != nil {
			return sink, err
		}
		if own != nil {
			sink++
		}
	}
	return sink, nil
}

func convertLoop(c codec.Codec, own any, n int) (sink int, err error) {
	for range n {
		if c.Convert(own) != nil {
			sink++
		}
	}
	return sink, nil
}

// recoverPanic turns a library's panic into an error, so that bytes that cause one are refused.
func recoverPanic(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("the library panicked: %v", panicked)
	}
}
