package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/credentials"
	"commute/stacks/go/engine"
	"commute/stacks/go/grpcgo"
	"commute/stacks/go/nethttp"
	"commute/stacks/go/quicgo"
	"commute/stacks/go/sign"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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

func TestDriversAreAuthenticatedOverEveryProtocol(t *testing.T) {
	for _, scheme := range []string{"", "jwt", "hmac"} {
		for protocol := range stacks {
			for _, plaintext := range []bool{false, true} {
				if plaintext && (protocol == "h2" || protocol == "h3") {
					continue
				}
				t.Run(fmt.Sprintf("%s %s plaintext=%v", scheme, protocol, plaintext), func(t *testing.T) {
					r := start(t, scheme, protocol == "grpc")
					steps := allSteps(protocol)
					rows := drive(t, r, protocol, plaintext, r.setting(scheme), steps)
					if len(rows) != len(steps) {
						t.Fatal("rows:", rows)
					}
					for _, row := range rows {
						if row.Error != nil || (row.SignedNs > 0) != (scheme == "hmac") || row.Protocol != protocol {
							t.Errorf("%+v, error %v", row, row.Error)
						}
						if (row.TLSNs == 0) != (plaintext || row.Reused) {
							t.Errorf("TLS time %d", row.TLSNs)
						}
						if row.AllocatedBytes == nil || row.Allocations == nil {
							t.Error("a lone call has no allocations")
						}
					}
					for i, event := range r.stop(t) {
						row := rows[*event.ID-1]
						if event.RequestDigest == "" || int64(event.RequestBytes) != row.RequestBytes || int64(event.ResponseBytes) != row.ResponseBytes {
							t.Errorf("request %d: %+v, row %+v", i, event, row)
						}
						if scheme != "" && (event.Auth == nil || *event.Auth != scheme || event.VerifyNs == nil) {
							t.Errorf("request %d was not authenticated: %+v", i, event)
						}
					}
				})
			}
		}
	}
}

func TestWhoProvesNothingIsRefused(t *testing.T) {
	for _, scheme := range []string{"jwt", "hmac"} {
		for protocol := range stacks {
			r := start(t, scheme, protocol == "grpc")
			want := http.StatusUnauthorized
			if protocol == "grpc" {
				want = int(codes.Unauthenticated)
			}
			for _, row := range drive(t, r, protocol, false, nil, allSteps(protocol)) {
				if row.Status == nil || *row.Status != want {
					t.Errorf("%s over %s: %+v", scheme, protocol, row)
				}
			}
			for _, event := range r.stop(t) {
				if event.Auth != nil || event.VerifyNs != nil {
					t.Errorf("%s over %s: logged as authenticated", scheme, protocol)
				}
			}
		}
	}
}

func (r running) key(t *testing.T) *sign.Key {
	key, err := sign.ReadKey(keyID, r.file("hmac.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestABodyThatWasNotSignedIsRefusedOverHTTP(t *testing.T) {
	r := start(t, "hmac", false)
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(r.file("ca.pem"))
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	send := func(method, path, signed, sent string, nonce byte) int {
		request, err := http.NewRequest(method, r.url(false)+path, strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		covered := sign.Request{Method: method, Authority: request.Host, Path: path, Digest: sign.ContentDigest([]byte(signed))}
		fields := r.key(t).Sign(covered, time.Now().Unix(), [sign.NonceBytes]byte{nonce})
		request.Header.Set("content-type", "application/json")
		request.Header.Set("content-digest", covered.Digest)
		request.Header.Set("signature-input", fields.Input)
		request.Header.Set("signature", fields.Signature)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	const echo = `{"start_ts":1}`
	if got := send("POST", "/echo", echo, echo, 1); got != http.StatusOK {
		t.Error("the signed body:", got)
	}
	if got := send("POST", "/echo", echo, echo, 1); got != http.StatusUnauthorized {
		t.Error("the same request again:", got)
	}
	for i, path := range []string{"/echo", "/exchange/Echo", "/submit/Diag"} {
		if got := send("POST", path, echo, `{"start_ts":2}`, byte(2+i)); got != http.StatusUnauthorized {
			t.Errorf("another body to %s: %d", path, got)
		}
	}
	if got := send("PUT", "/upload", "one", "two", 8); got != http.StatusUnauthorized {
		t.Error("another file:", got)
	}
	if got := send("GET", "/bytes/1", "", "x", 9); got != http.StatusUnauthorized {
		t.Error("a body that nobody reads:", got)
	}
	if got, err := client.Get(r.url(false) + "/health"); err != nil || got.StatusCode != http.StatusOK {
		t.Error("/health:", err)
	}
}

func TestMessagesThatWereNotSignedAreRefusedOverGRPC(t *testing.T) {
	r := start(t, "hmac", true)
	channel, err := grpc.NewClient("localhost:"+port(r.addresses[1]), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	// signed returns the metadata of a call, whose message is nil for a stream, and the codes of chunks.
	signed := func(path string, message proto.Message, nonce byte) (context.Context, *sign.Chunks) {
		covered := sign.Request{Method: "POST", Authority: "localhost:" + port(r.addresses[1]), Path: path}
		if message != nil {
			encoded, err := proto.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			covered.Digest = sign.ContentDigest(encoded)
		}
		fields := r.key(t).Sign(covered, time.Now().Unix(), [sign.NonceBytes]byte{nonce})
		pairs := []string{"signature-input", fields.Input, "signature", fields.Signature}
		if message != nil {
			pairs = append(pairs, "content-digest", covered.Digest)
		}
		return metadata.AppendToOutgoingContext(context.Background(), pairs...), r.key(t).Chunks(fields.Code)
	}
	bench := wirepb.NewBenchClient(channel)
	one, two := &wirepb.EchoRequest{StartTs: 1}, &wirepb.EchoRequest{StartTs: 2}
	ctx, _ := signed(wirepb.Bench_Echo_FullMethodName, one, 1)
	if _, err := bench.Echo(ctx, one); err != nil {
		t.Error("the signed message:", err)
	}
	if _, err := bench.Echo(ctx, one); status.Code(err) != codes.Unauthenticated {
		t.Error("the same call again:", err)
	}
	ctx, _ = signed(wirepb.Bench_Echo_FullMethodName, one, 2)
	if _, err := bench.Echo(ctx, two); status.Code(err) != codes.Unauthenticated {
		t.Error("another message:", err)
	}
	ctx, _ = signed(wirepb.Bench_Download_FullMethodName, &wirepb.DownloadRequest{Bytes: 1}, 3)
	download, err := bench.Download(ctx, &wirepb.DownloadRequest{Bytes: 2})
	if err == nil {
		_, err = download.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Error("another file:", err)
	}
	ctx, _ = signed(wirepb.Bench_Chat_FullMethodName, nil, 4)
	chat, err := bench.Chat(ctx)
	if err == nil {
		_, err = chat.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Error("a stream in both directions:", err)
	}
	for i, test := range []struct {
		name  string
		spoil func(chunks []*wirepb.Chunk) []*wirepb.Chunk
		want  codes.Code
	}{
		{"whole", func(c []*wirepb.Chunk) []*wirepb.Chunk { return c }, codes.OK},
		{"changed", func(c []*wirepb.Chunk) []*wirepb.Chunk { c[0].Data = []byte("x"); return c }, codes.Unauthenticated},
		{"cut off", func(c []*wirepb.Chunk) []*wirepb.Chunk { return c[:1] }, codes.Unauthenticated},
		{"without its beginning", func(c []*wirepb.Chunk) []*wirepb.Chunk { return c[1:] }, codes.Unauthenticated},
		{"swapped", func(c []*wirepb.Chunk) []*wirepb.Chunk { return []*wirepb.Chunk{c[1], c[0]} }, codes.Unauthenticated},
		{"without codes", func(c []*wirepb.Chunk) []*wirepb.Chunk { c[0].Code, c[1].Code = nil, nil; return c }, codes.Unauthenticated},
		{"empty", func([]*wirepb.Chunk) []*wirepb.Chunk { return nil }, codes.Unauthenticated},
	} {
		ctx, head := signed(wirepb.Bench_Upload_FullMethodName, nil, byte(10+i))
		chunks := []*wirepb.Chunk{{Data: []byte("one")}, {Data: []byte("two")}}
		chunks[0].Code, chunks[1].Code = head.Code(chunks[0].Data, false), head.Code(chunks[1].Data, true)
		upload, err := bench.Upload(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range test.spoil(chunks) {
			upload.Send(chunk) // if it fails, CloseAndRecv says why
		}
		if _, err := upload.CloseAndRecv(); status.Code(err) != test.want {
			t.Errorf("a stream %s: %v", test.name, err)
		}
	}
}

func TestSecretsAreMadeAtEachStartAndReadableByTheirOwnerOnly(t *testing.T) {
	first, second := start(t, "hmac", false), start(t, "hmac", false)
	if first.key(t).Sign(sign.Request{}, 1, [sign.NonceBytes]byte{}) == second.key(t).Sign(sign.Request{}, 1, [sign.NonceBytes]byte{}) {
		t.Error("two servers have the same secret")
	}
	for _, file := range []string{start(t, "jwt", false).file("token.jwt"), first.file("hmac.key"), first.file("client.key")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(file, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(first.file("hmac.key"))
	if secret, bad := base64.StdEncoding.DecodeString(string(text)); err != nil || bad != nil || len(secret) != hmacBytes {
		t.Error("the secret:", err, bad, len(secret))
	}
}

// Parts that are not a Diag are refused, as commute serve refuses them.
func TestASubmissionMustBeADiag(t *testing.T) {
	r := start(t, "", true)
	channel, err := grpc.NewClient("localhost:"+port(r.addresses[1]), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	stream, err := channel.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true}, "/commute.bench.v1.Submit/DiagStream")
	if err != nil {
		t.Fatal(err)
	}
	stream.SendMsg(&benchpb.Part{Data: []byte{0xff}})
	stream.CloseSend()
	if err := stream.RecvMsg(&benchpb.Receipt{}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}
