package grpcgo

import (
	"context"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/engine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// sendEncoded sends the request's body, an encoded message. Encoding and decoding happen outside
// grpc-go, so that their time is separate from grpc-go's own.
func (r *request) sendEncoded(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
	var reply []byte
	err := channel.Invoke(ctx, r.method, r.body, &reply, grpc.ForceCodecV2(passThrough{}))
	if err == nil {
		call.Receive(engine.RawPart(reply))
	}
	return err
}

// sendParts sends a message in parts on a client stream.
func (r *request) sendParts(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
	stream, err := channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, r.method)
	if err != nil {
		return err
	}
	for i, part := range r.parts {
		if stream.SendMsg(&benchpb.Part{Data: part, Code: r.code(part, i == len(r.parts)-1)}) != nil {
			break // the stream has ended; its status says why
		}
	}
	stream.CloseSend()
	receipt := &benchpb.Receipt{}
	if err = stream.RecvMsg(receipt); err == nil {
		call.Receive(message{receipt})
	}
	return err
}

// passThrough is the codec for messages that are encoded already.
type passThrough struct{}

func (passThrough) Name() string { return "proto" }

func (passThrough) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(message.([]byte))}, nil
}

func (passThrough) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}

// encodedRequest is protobuf's codec for one call, whose request is encoded already.
type encodedRequest struct {
	encoding.CodecV2
	request []byte
}

func (e encodedRequest) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(e.request)}, nil
}
