// Package engine makes a client library follow commute's driver protocol
// (docs/driver-protocol.md): it talks to the lab, starts the steps by their rules and makes
// the rows. A library's own package has only what differs.
package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"commute/stacks/go/auth"
)

// Version is the version of the driver protocol.
const Version = 2

// Hello describes a driver and its stack.
type Hello struct {
	Type         string            `json:"type"`
	Version      int               `json:"version"`
	Stack        string            `json:"stack"`
	StackVersion string            `json:"stack_version"`
	TLS          string            `json:"tls"`
	Protocols    []string          `json:"protocols"`
	Codecs       []string          `json:"codecs,omitempty"` // of exchanges
	Capabilities []string          `json:"capabilities"`
	Clock        string            `json:"clock"`
	ResolutionNs int64             `json:"resolution_ns"`
	Phases       map[string]string `json:"phases"`
	Settings     map[string]string `json:"settings"`
}

// Setup names the origin, and how to connect to it.
type Setup struct {
	URL string `json:"url"`
	// Origins maps the names of further origins to their URLs.
	Origins        map[string]string `json:"origins"`
	WarmupURL      string            `json:"warmup_url"`
	WarmupCalls    *int              `json:"warmup_calls"`
	CAFile         string            `json:"ca_file"`
	ClientCertFile string            `json:"client_cert_file"`
	ClientKeyFile  string            `json:"client_key_file"`
	// Auth is nil if requests need not prove who sends them.
	Auth       *auth.Setting `json:"auth"`
	Protocol   string        `json:"protocol"`
	Codec      string        `json:"codec"`
	TimeoutNs  int64         `json:"timeout_ns"`
	Congestion string        `json:"congestion"`
	Observe    string        `json:"observe"`
	Discovery  string        `json:"discovery"`
	// Values maps the names of the messages to exchange to their value files.
	Values map[string]string `json:"values"`
	// Payloads maps the names of the payloads of fetch steps to their files.
	Payloads map[string]string `json:"payloads"`
}

// Step is one entry of a run: a call, a pause or a reconnect.
type Step struct {
	ID            uint32            `json:"id"`
	Start         map[string]uint64 `json:"start"`
	Until         *Until            `json:"until"`
	Group         uint32            `json:"group"`
	Kind          string            `json:"step"`
	Body          string            `json:"body"`
	Bytes         uint64            `json:"bytes"`
	Messages      int               `json:"messages"`
	Ns            int64             `json:"ns"`
	Mode          string            `json:"mode"`
	CancelAfterNs int64             `json:"cancel_after_ns"`
	Origin        string            `json:"origin"` // empty: Setup.URL
	Message       string            `json:"message"`
	MessageKind   string            `json:"kind"`
	ChunkBytes    uint64            `json:"chunk_bytes"` // of a submit; 0: one message
	Method        string            `json:"method"`      // this and the next three: of a fetch
	Path          string            `json:"path"`
	Headers       map[string]string `json:"headers"`
	Payload       string            `json:"payload"` // a name in Setup.Payloads; empty: no body
	Content       []byte            `json:"-"`       // the bytes of Payload
}

// Until is when it is too late to start a step: Ns nanoseconds after the end of the step with the id
// After; 0: after the start of the run.
type Until struct {
	After uint32 `json:"after"`
	Ns    uint64 `json:"ns"`
}

// isCall reports whether the step has a row.
func (s Step) isCall() bool { return s.Kind != "pause" && s.Kind != "reconnect" }

// The modes of a reconnect.
const (
	Cold      = "cold"
	Resume    = "resume"
	EarlyData = "early_data"
)

// Row is what the driver saw of one call. A time of 0 means that it did not happen.
type Row struct {
	Type          string `json:"type"`
	ID            uint32 `json:"id"`
	Connection    int    `json:"connection"`
	LocalPort     int    `json:"local_port,omitempty"`
	StartNs       int64  `json:"start_ns"`
	CreatedNs     int64  `json:"created_ns,omitempty"`
	EncodedNs     int64  `json:"encoded_ns,omitempty"`
	SignedNs      int64  `json:"signed_ns,omitempty"`
	DNSNs         int64  `json:"dns_ns,omitempty"`
	ConnectNs     int64  `json:"connect_ns,omitempty"`
	TLSNs         int64  `json:"tls_ns,omitempty"`
	RequestSentNs int64  `json:"request_sent_ns,omitempty"`
	FirstByteNs   int64  `json:"first_byte_ns,omitempty"`
	ReceivedNs    int64  `json:"received_ns,omitempty"`
	EndNs         int64  `json:"end_ns"`
	Status        *int   `json:"status,omitempty"`
	RequestBytes  int64  `json:"request_bytes"`
	ResponseBytes int64  `json:"response_bytes"`
	Digest        string `json:"digest,omitempty"`
	Protocol      string `json:"protocol,omitempty"`
	Reused        bool   `json:"reused"`
	Resumed       bool   `json:"resumed"`
	EarlyData     bool   `json:"early_data"`
	Attempts      int    `json:"attempts"`
	// What the call allocated; nil if another call ran meanwhile.
	AllocatedBytes *uint64    `json:"allocated_bytes,omitempty"`
	Allocations    *uint64    `json:"allocations,omitempty"`
	Error          *CallError `json:"error,omitempty"`
}

// CallError is why a call failed: one of the protocol's kinds and the library's message.
type CallError struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

func (e *CallError) Error() string { return e.Kind + ": " + e.Detail }

// NewCallError returns a CallError with the message of a library's error.
func NewCallError(kind string, err error) *CallError {
	const maxDetail = 4 << 10 // a line may have 64 KiB
	detail := err.Error()
	return &CallError{Kind: kind, Detail: detail[:min(len(detail), maxDetail)]}
}

// Unsupported rejects what the stack cannot do. It is not a failure of the driver.
type Unsupported struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

func (u *Unsupported) Error() string { return u.What + " is unsupported: " + u.Reason }

// request is any line from the lab.
type request struct {
	Type  string `json:"type"`
	Steps []Step `json:"steps"`
	setup Setup
}

func parseRequest(line []byte) (request, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("not a request: %w", err)
	}
	if r.Type == "setup" {
		if err := json.Unmarshal(line, &r.setup); err != nil {
			return r, fmt.Errorf("not a setup: %w", err)
		}
	}
	return r, nil
}

// duration converts the lab's nanoseconds, which may exceed a time.Duration.
func duration(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}
