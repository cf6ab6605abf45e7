package main

import (
	"context"
	"io"
	"time"

	"commute/stacks/go/auth"
	"commute/stacks/go/sign"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// guarded returns a service whose calls are authenticated before their handlers see a message. Requests
// that are signed as a whole are received in their wire form, whose digest is signed, and decoded here.
func (s *server) guarded(service grpc.ServiceDesc) *grpc.ServiceDesc {
	if s.auth == nil {
		return &service
	}
	service.Methods = append([]grpc.MethodDesc(nil), service.Methods...)
	for i, method := range service.Methods {
		path := "/" + service.ServiceName + "/" + method.MethodName
		service.Methods[i].Handler = func(of any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			checked := func(message any) error { return s.auth.receive(ctx, path, decode, message) }
			return method.Handler(of, ctx, checked, interceptor)
		}
	}
	service.Streams = append([]grpc.StreamDesc(nil), service.Streams...)
	for i, stream := range service.Streams {
		path := "/" + service.ServiceName + "/" + stream.StreamName
		service.Streams[i].Handler = func(of any, transport grpc.ServerStream) error {
			if !stream.ClientStreams {
				return stream.Handler(of, &guardedStream{transport, s.auth, path})
			}
			if stream.ServerStreams && s.auth.scheme == auth.HMAC {
				return status.Error(codes.Unauthenticated, "a stream in both directions cannot be signed")
			}
			if err := s.auth.rpcHead(transport.Context(), path, true); err != nil {
				return err
			}
			return stream.Handler(of, transport)
		}
	}
	return &service
}

// A guardedStream authenticates the one request of a stream of answers.
type guardedStream struct {
	grpc.ServerStream
	auth *authenticator
	path string
}

// RecvMsg receives the request.
func (g *guardedStream) RecvMsg(message any) error {
	return g.auth.receive(g.Context(), g.path, g.ServerStream.RecvMsg, message)
}

// rpcHead checks the metadata of a call.
func (a *authenticator) rpcHead(ctx context.Context, path string, streamed bool) error {
	call := ctx.Value(rpcKey{}).(*rpc)
	start := time.Now()
	headers, _ := metadata.FromIncomingContext(ctx)
	covered := sign.Request{Method: "POST", Authority: values(headers.Get).only(":authority"), Path: path}
	chunks, err := a.head(headers.Get, covered, streamed)
	call.event.took(start)
	if err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	call.chunks = chunks
	if a.scheme == auth.JWT {
		call.event.Auth = &a.scheme
	}
	return nil
}

// receive checks a call that has one request, and receives it.
func (a *authenticator) receive(ctx context.Context, path string, receive func(any) error, message any) error {
	if err := a.rpcHead(ctx, path, false); err != nil {
		return err
	}
	if a.scheme == auth.JWT {
		return receive(message)
	}
	var encoded []byte
	if err := receive(&encoded); err != nil {
		return err
	}
	call := ctx.Value(rpcKey{}).(*rpc)
	start := time.Now()
	headers, _ := metadata.FromIncomingContext(ctx)
	same := sign.ContentDigest(encoded) == values(headers.Get).only("content-digest")
	call.event.took(start)
	if !same {
		return status.Error(codes.Unauthenticated, sign.ErrDigest.Error())
	}
	call.event.Auth = &a.scheme
	if raw, isRaw := message.(*[]byte); isRaw {
		*raw = encoded
		return nil
	}
	if err := proto.Unmarshal(encoded, message.(proto.Message)); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// A chunk is one message of a client stream.
type chunk interface {
	GetData() []byte
	GetCode() []byte
}

// receiveChunks passes on the data of each chunk of a client stream, if it is signed once its code is
// verified, which takes knowing whether another follows.
func receiveChunks[C chunk](ctx context.Context, receive func() (C, error), take func(data []byte) error) error {
	call := ctx.Value(rpcKey{}).(*rpc)
	var held []C
	for {
		next, err := receive()
		if err != nil && err != io.EOF {
			return err
		}
		last := err == io.EOF
		// A stream without chunks has no code of a last one.
		if call.chunks != nil && (len(held) > 0 || last) {
			start := time.Now()
			genuine := len(held) > 0 && call.chunks.Verify(held[0].GetData(), last, held[0].GetCode()) == nil
			call.event.took(start)
			if !genuine {
				return status.Error(codes.Unauthenticated, sign.ErrChunk.Error())
			}
		}
		if len(held) > 0 {
			if err := take(held[0].GetData()); err != nil {
				return err
			}
		}
		if last {
			if call.chunks != nil {
				scheme := auth.HMAC
				call.event.Auth = &scheme
			}
			return nil
		}
		held = []C{next}
	}
}
