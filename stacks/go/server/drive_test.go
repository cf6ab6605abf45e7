package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"commute/stacks/go/credentials"
	"commute/stacks/go/engine"
	"commute/stacks/go/grpcgo"
	"commute/stacks/go/nethttp"
	"commute/stacks/go/quicgo"
)

var stacks = map[string]func() engine.Stack{"h1": nethttp.Stack, "h2": nethttp.Stack, "h3": quicgo.Stack, "grpc": grpcgo.Stack}

// A running server, and its folder of credentials.
type running struct {
	*server
	folder string
}

// start serves on loopback, first with TLS and then without.
func start(t *testing.T, scheme string, grpc bool) running {
	t.Helper()
	folder := t.TempDir()
	made, err := credentials.New([]string{"localhost"}, credentials.KeyP256, credentials.ChainTypical)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{options: options{grpc: grpc}, chainBytes: made.ChainBytes()}
	if scheme != "" {
		authenticator, name, line, err := newAuthenticator(scheme)
		if err != nil {
			t.Fatal(err)
		}
		s.auth = authenticator
		made.AddSecret(name, line)
	}
	if err := made.Write(folder); err != nil {
		t.Fatal(err)
	}
	if s.log, err = openLog(filepath.Join(folder, "log")); err != nil {
		t.Fatal(err)
	}
	if err := s.open("127.0.0.1:0", made.TLS(false)); err != nil {
		t.Fatal(err)
	}
	if err := s.openPlaintext("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, closeAll := range s.closers {
			closeAll()
		}
	})
	return running{s, folder}
}

// stop ends the server and returns the requests of its log.
func (r running) stop(t *testing.T) []requestEvent {
	r.drain()
	if err := r.log.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var requests []requestEvent
	for line := range bytes.Lines(text) {
		var event requestEvent
		if json.Unmarshal(line, &event); event.Event == "request" {
			requests = append(requests, event)
		}
	}
	return requests
}

func (r running) file(name string) string { return filepath.Join(r.folder, name) }

func (r running) url(plaintext bool) string {
	if plaintext {
		return "http://localhost:" + port(r.addresses[1])
	}
	return "https://localhost:" + port(r.addresses[0])
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// drive lets a driver make the steps and returns its rows.
func drive(t *testing.T, r running, protocol string, plaintext bool, auth map[string]string, steps []map[string]any) []engine.Row {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	for _, path := range []string{in, out} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("COMMUTE_IN", in)
	t.Setenv("COMMUTE_OUT", out)
	served := make(chan error, 1)
	go func() { served <- engine.Serve(stacks[protocol]()) }()
	requests, err := os.OpenFile(in, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	replies, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer replies.Close()
	codec := "json"
	if protocol == "grpc" {
		codec = "protobuf"
	}
	setup := map[string]any{"type": "setup", "url": r.url(plaintext), "ca_file": r.file("ca.pem"), "protocol": protocol,
		"codec": codec, "timeout_ns": int64(20 * time.Second), "values": map[string]string{"report": r.file("report")}}
	if auth != nil {
		setup["auth"] = auth
	}
	report := fmt.Sprintf("{\ni 7\n{\nx %x\n}\n}\n", strings.Repeat("z", 40_000))
	if err := os.WriteFile(r.file("report"), []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	encoder := json.NewEncoder(requests)
	encoder.Encode(setup)
	encoder.Encode(map[string]any{"type": "run", "steps": steps})
	var rows []engine.Row
	lines := bufio.NewScanner(replies)
	for lines.Scan() {
		var row engine.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		switch row.Type {
		case "row":
			rows = append(rows, row)
		case "unsupported", "failed":
			t.Fatal(protocol, lines.Text())
		}
		if row.Type == "done" {
			break
		}
	}
	requests.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	return rows
}

func allSteps(protocol string) []map[string]any {
	steps := []map[string]any{
		{"step": "call", "body": `{"start_ts":1}`},
		{"step": "get", "bytes": 100_000},
		{"step": "put", "bytes": 100_000},
		{"step": "put", "bytes": 0},
		{"step": "exchange", "message": "report", "kind": "Diag"},
		{"step": "submit", "message": "report", "kind": "Diag"},
	}
	if protocol == "grpc" {
		steps = append(steps, map[string]any{"step": "submit", "message": "report", "kind": "Diag", "chunk_bytes": 9000})
	}
	for i, step := range steps {
		step["id"], step["group"] = i+1, i+1
	}
	return steps
}

func (r running) setting(scheme string) map[string]string {
	if scheme == "" {
		return nil
	}
	return map[string]string{"scheme": scheme, "token_file": r.file("token.jwt"), "key_id": keyID, "key_file": r.file("hmac.key")}
}
