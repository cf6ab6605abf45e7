package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/sign"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
