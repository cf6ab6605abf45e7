// Command codec-runner encodes and decodes the messages of the codec bench with Go's codec
// libraries, by docs/codec-runner.md.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"commute/stacks/go/codec"
)

func main() {
	if err := serve(os.Getenv("COMMUTE_IN"), os.Getenv("COMMUTE_OUT")); err != nil {
		fmt.Fprintln(os.Stderr, "codec-runner:", err)
		os.Exit(1)
	}
}

// serve answers the bench until it says close or hangs up.
func serve(in, out string) error {
	requests, err := os.Open(in)
	if err != nil {
		return err
	}
	defer requests.Close()
	replies, err := os.OpenFile(out, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer replies.Close()
	b := bench{offers: codec.Offers(), codecs: map[codecKey]codec.Codec{}}
	for lines := bufio.NewReader(requests); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		reply := b.answer(line)
		if reply == nil {
			return nil
		}
		text, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		if _, err := replies.Write(append(text, '\n')); err != nil {
			return err
		}
	}
}

// request is any line of the bench.
type request struct {
	Type        string `json:"type"`
	Codec       string `json:"codec"`
	Library     string `json:"library"`
	Message     string `json:"message"`
	ValueFile   string `json:"value_file"`
	EncodedFile string `json:"encoded_file"`
	Part        string `json:"part"`
	Iterations  int    `json:"iterations"`
}

// answer returns the reply to a line, nil to close.
func (b *bench) answer(line []byte) any {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return failed(fmt.Errorf("not a request: %w", err))
	}
	switch r.Type {
	case "hello":
		return b.hello()
	case "setup": // the messages are compiled in, so the schema is not needed
		return map[string]any{"type": "ready"}
	case "encode":
		return b.encode(r)
	case "decode":
		return b.decode(r)
	case "time":
		return b.time(r)
	case "close":
		return nil
	}
	return unsupported("request "+r.Type, "the runner does not know it")
}

func (b *bench) hello() any {
	return map[string]any{
		"type": "hello", "version": 2, "runtime": "go", "runtime_version": runtime.Version(),
		"codecs": b.offers,
		"heap":   "runtime.MemStats.TotalAlloc",
	}
}

// A line has 64 KiB; a reason that is longer tells nothing more.
const longestReason = 4 << 10

func reason(err error) string {
	text := err.Error()
	return text[:min(len(text), longestReason)]
}

func failed(err error) any {
	return map[string]any{"type": "failed", "reason": reason(err)}
}

func refused(err error) any {
	return map[string]any{"type": "refused", "error": reason(err)}
}

func unsupported(what, why string) any {
	return map[string]any{"type": "unsupported", "what": what, "reason": why}
}
