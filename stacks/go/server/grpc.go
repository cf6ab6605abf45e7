package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/engine"
	"commute/stacks/go/sign"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccreds "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// chunkBytes is the size of a download's chunks, as commute serve's.
const chunkBytes = 32 << 10

// bench is the service of crates/shared/messages/proto/commute/v1/echo.proto.
type bench struct {
	wirepb.UnimplementedBenchServer
}

// Echo answers with an equal message.
func (bench) Echo(_ context.Context, request *wirepb.EchoRequest) (*wirepb.EchoReply, error) {
	return &wirepb.EchoReply{StartTs: request.StartTs, Padding: request.Padding}, nil
}

// Download streams the first bytes of the seeded file.
func (bench) Download(request *wirepb.DownloadRequest, stream grpc.ServerStreamingServer[wirepb.Chunk]) error {
	if request.Bytes > maxFileBytes {
		return status.Errorf(codes.OutOfRange, "files have at most %d bytes", int64(maxFileBytes))
	}
	file := io.NewSectionReader(engine.SeededFile{}, 0, int64(request.Bytes))
	chunk := make([]byte, chunkBytes)
	for {
		n, err := io.ReadFull(file, chunk)
		if n > 0 {
			if err := stream.Send(&wirepb.Chunk{Data: chunk[:n]}); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the end of the file: reading it cannot fail
		}
	}
}

// Upload counts and digests the bytes received.
func (bench) Upload(stream grpc.ClientStreamingServer[wirepb.Chunk, wirepb.UploadReply]) error {
	sum := sha256.New()
	var n uint64
	err := receiveChunks(stream.Context(), stream.Recv, func(data []byte) error {
		n += uint64(len(data))
		sum.Write(data)
		return nil
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&wirepb.UploadReply{Bytes: n, Sha256: hex.EncodeToString(sum.Sum(nil))})
}

// Chat answers each message at once and in order.
func (bench) Chat(stream grpc.BidiStreamingServer[wirepb.EchoRequest, wirepb.EchoReply]) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = stream.Send(&wirepb.EchoReply{StartTs: request.StartTs, Padding: request.Padding})
		}
		if err != nil {
			return err
		}
	}
}

// grpcTLS logs connections when their handshakes complete, or without TLS at once.
type grpcTLS struct {
	config *tls.Config // nil without TLS
	server *server
}

// authInfo carries a connection's number to its requests.
type authInfo struct {
	grpccreds.TLSInfo
	number uint64
}

// ServerHandshake completes a TLS handshake and logs the connection.
func (t *grpcTLS) ServerHandshake(raw net.Conn) (net.Conn, grpccreds.AuthInfo, error) {
	if t.config == nil {
		conn := t.server.plaintext(raw)
		return conn, authInfo{number: conn.number}, nil
	}
	conn, number, err := t.server.handshake(raw, t.config)
	if err != nil {
		return nil, nil, err
	}
	security := grpccreds.CommonAuthInfo{SecurityLevel: grpccreds.PrivacyAndIntegrity}
	return conn, authInfo{grpccreds.TLSInfo{State: conn.ConnectionState(), CommonAuthInfo: security}, number}, nil
}

// ClientHandshake is never called on a server.
func (t *grpcTLS) ClientHandshake(context.Context, string, net.Conn) (net.Conn, grpccreds.AuthInfo, error) {
	panic("a server makes no client handshake")
}

// Info describes the protocol.
func (t *grpcTLS) Info() grpccreds.ProtocolInfo {
	return grpccreds.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone returns itself: it has no state.
func (t *grpcTLS) Clone() grpccreds.TransportCredentials { return t }

// OverrideServerName does nothing on a server.
func (t *grpcTLS) OverrideServerName(string) error { return nil }

// grpcAccounting logs every RPC. Over gRPC the content of a request is its encoded messages; of a
// file, its bytes.
type grpcAccounting struct{ server *server }

type rpcKey struct{}

// An rpc is the accounting of one call. grpc-go may receive and send at the same time, each in one
// goroutine.
type rpc struct {
	event             requestEvent
	request, response content
	statusWasSent     bool
	chunks            *sign.Chunks // the codes that a signed stream's chunks must have; else nil
}

// TagRPC starts the accounting of a call.
func (a *grpcAccounting) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	a.server.requests.Add(1)
	call := &rpc{request: newContent(), response: newContent()}
	call.event = requestEvent{
		Event:    "request",
		Protocol: "grpc",
		Method:   "POST",
		Path:     info.FullMethodName,
		StartNs:  engine.Now(),
	}
	if from, ok := peer.FromContext(ctx); ok {
		call.event.Connection = from.AuthInfo.(authInfo).number
	}
	return context.WithValue(ctx, rpcKey{}, call)
}

// HandleRPC accounts for one event of a call.
func (a *grpcAccounting) HandleRPC(ctx context.Context, event stats.RPCStats) {
	call := ctx.Value(rpcKey{}).(*rpc)
	switch event := event.(type) {
	case *stats.InHeader:
		if ids := event.Header.Get(requestID); len(ids) == 1 {
			call.event.ID = parseID(ids[0])
		}
		if names := event.Header.Get(":authority"); len(names) == 1 {
			call.event.Authority = names[0]
		}
	case *stats.InPayload:
		now := engine.Now()
		call.event.ReceivedNs = &now
		call.request.add(contentOf(event.Payload))
	case *stats.OutPayload:
		call.response.add(contentOf(event.Payload))
	case *stats.OutTrailer:
		call.statusWasSent = true
	case *stats.End:
		call.event.EndNs = engine.Now()
		call.event.RequestBytes, call.event.RequestDigest = call.request.bytes, call.request.digest()
		call.event.ResponseBytes, call.event.ResponseDigest = call.response.bytes, call.response.digest()
		call.event.Status = int(status.Code(event.Error))
		call.event.Broken = !call.statusWasSent
		call.event.authEvent = call.event.authenticated()
		a.server.log.write(call.event)
		a.server.requests.Done()
	}
}

// TagConn is called for every connection; handshakes are logged elsewhere.
func (a *grpcAccounting) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

// HandleConn is called when a connection opens or closes.
func (a *grpcAccounting) HandleConn(context.Context, stats.ConnStats) {}

func contentOf(message any) []byte {
	switch message := message.(type) {
	case *wirepb.Chunk:
		return message.Data
	case *benchpb.Part:
		return message.Data
	case []byte: // the answer of an exchange
		return message
	case *[]byte: // the request of an exchange
		return *message
	}
	encoded, err := proto.Marshal(message.(proto.Message))
	if err != nil {
		panic(err) // impossible: it was decoded from, or has been encoded to, its wire form
	}
	return encoded
}
