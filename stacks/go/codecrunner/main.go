// Command codec-runner encodes and decodes the messages of the codec bench with Go's codec
// libraries (docs/codec-runner.md).
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

// maxReason bounds the reasons in replies. A line may have 64 KiB.
const maxReason = 4 << 10

func main() {
	if err := serve(os.Getenv("COMMUTE_IN"), os.Getenv("COMMUTE_OUT")); err != nil {
		fmt.Fprintln(os.Stderr, "codec-runner:", err)
		os.Exit(1)
	}
}

// serve answers the bench until it sends close or hangs up.
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
	r := runner{offers: codec.Offers(), codecs: map[codecKey]codec.Codec{}}
	for lines := bufio.NewReader(requests); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		reply := r.answer(line)
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

// request is any line from the bench.
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

// answer returns the reply to a line, or nil to close.
func (r *runner) answer(line []byte) any {
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return failed(fmt.Errorf("not a request: %w", err))
	}
	switch req.Type {
	case "hello":
		return r.hello()
	case "setup": // the messages are compiled in; the schema is not needed
		return map[string]any{"type": "ready"}
	case "encode":
		return r.encode(req)
	case "decode":
		return r.decode(req)
	case "time":
		return r.time(req)
	case "close":
		return nil
	}
	return unsupported("request "+req.Type, "unknown to this runner")
}

func (r *runner) hello() any {
	return map[string]any{
		"type": "hello", "version": 2, "runtime": "go", "runtime_version": runtime.Version(),
		"codecs": r.offers,
		"heap":   "runtime.MemStats.TotalAlloc",
	}
}

func reason(err error) string {
	text := err.Error()
	return text[:min(len(text), maxReason)]
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
