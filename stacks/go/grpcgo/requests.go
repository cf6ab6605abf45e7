package grpcgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"commute/stacks/go/engine"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// chunkBytes is the size of an upload's chunks, the same as in commute's other gRPC drivers.
const chunkBytes = 16 << 10

// A request is a step as an RPC, ready to be sent any number of times.
type request struct {
	id   string
	do   rpc
	body []byte // an exchange's encoded message
}

// An rpc makes one call and keeps what it receives.
type rpc func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error

func prepare(step engine.Step) (*request, error) {
	r := &request{id: strconv.FormatUint(uint64(step.ID), 10)}
	var err error
	switch step.Kind {
	case "call":
		r.do, err = echo(step)
	case "get":
		r.do = download(step)
	case "put":
		r.do, err = upload(step)
	case "stream":
		r.do, err = chat(step)
	case "exchange":
		r.do = r.exchange(step)
	}
	return r, err
}

// SetBody sets the encoded message of an exchange.
func (r *request) SetBody(body []byte) { r.body = body }

func (r *request) send(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
	return r.do(metadata.AppendToOutgoingContext(ctx, "x-commute-id", r.id), channel, call)
}

func echo(step engine.Step) (rpc, error) {
	request, err := echoRequest(step)
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		reply, err := wirepb.NewBenchClient(channel).Echo(ctx, request)
		if err == nil {
			call.Receive(message{reply})
		}
		return err
	}, err
}

func download(step engine.Step) rpc {
	request := &wirepb.DownloadRequest{Bytes: step.Bytes}
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		chunks, err := wirepb.NewBenchClient(channel).Download(ctx, request)
		for err == nil {
			var chunk *wirepb.Chunk
			if chunk, err = chunks.Recv(); err == nil {
				call.Receive(engine.RawPart(chunk.Data))
			}
		}
		return unlessEOF(err)
	}
}

func upload(step engine.Step) (rpc, error) {
	file, err := engine.Seeded(step.Bytes)
	var chunks []*wirepb.Chunk
	for len(file) > 0 {
		n := min(len(file), chunkBytes)
		chunks = append(chunks, &wirepb.Chunk{Data: file[:n]})
		file = file[n:]
	}
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		stream, err := wirepb.NewBenchClient(channel).Upload(ctx)
		if err != nil {
			return err
		}
		for _, chunk := range chunks {
			if stream.Send(chunk) != nil {
				break // the stream has ended; its status says why
			}
		}
		reply, err := stream.CloseAndRecv()
		if err == nil {
			call.Receive(message{reply})
		}
		return err
	}, err
}

// chat keeps one message in flight: it sends the next when the last has been answered.
func chat(step engine.Step) (rpc, error) {
	request, err := echoRequest(step)
	if step.Messages < 1 {
		err = fmt.Errorf("step %d: a stream needs at least one message", step.ID)
	}
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		stream, err := wirepb.NewBenchClient(channel).Chat(ctx)
		if err != nil {
			return err
		}
		for range step.Messages {
			stream.Send(request) // if it fails, Recv says why
			reply, err := stream.Recv()
			if err == io.EOF {
				return errEndedEarly
			}
			if err != nil {
				return err
			}
			call.Receive(message{reply})
		}
		stream.CloseSend()
		_, err = stream.Recv()
		return unlessEOF(err)
	}, err
}

var errEndedEarly = errors.New("the server ended the stream before answering")

func unlessEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// A message is a body part that counts in its wire form.
type message struct{ proto.Message }

func (m message) WireBytes() []byte {
	bytes, err := proto.Marshal(m.Message)
	if err != nil {
		panic(err) // impossible: it was unmarshalled from a wire form
	}
	return bytes
}

// echoRequest parses the JSON form of the message. It rejects unknown fields, so that client and
// server cannot silently disagree.
func echoRequest(step engine.Step) (*wirepb.EchoRequest, error) {
	var body struct {
		StartTs *uint64 `json:"start_ts"`
		Padding string  `json:"padding"`
	}
	decoder := json.NewDecoder(strings.NewReader(step.Body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&body)
	if err == nil && (body.StartTs == nil || decoder.More()) {
		err = errors.New(`expected {"start_ts":<integer>} and optionally "padding"`)
	}
	if err != nil {
		return nil, fmt.Errorf("step %d is not an echo message: %w", step.ID, err)
	}
	return &wirepb.EchoRequest{StartTs: *body.StartTs, Padding: body.Padding}, nil
}
