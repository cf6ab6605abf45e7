package grpcgo

import (
	"context"

	"commute/stacks/go/engine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// exchange sends the request's body, an encoded message. Encoding and decoding happen outside
// grpc-go, so that their time is separate from grpc-go's own.
func (r *request) exchange(step engine.Step) rpc {
	method := "/commute.bench.v1.Exchange/" + step.MessageKind
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		var reply []byte
		err := channel.Invoke(ctx, method, r.body, &reply, grpc.ForceCodecV2(passThrough{}))
		if err == nil {
			call.Receive(engine.RawPart(reply))
		}
		return err
	}
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
