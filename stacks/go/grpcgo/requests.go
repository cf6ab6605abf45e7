package grpcgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"commute/stacks/go/auth"
	"commute/stacks/go/engine"
	"commute/stacks/go/sign"
	"commute/stacks/go/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// chunkBytes is the size of an upload's chunks, the same as in commute's other gRPC drivers.
const chunkBytes = 16 << 10

// A request is a step as an RPC, ready to be sent any number of times.
type request struct {
	authority string
	method    string   // /package.Service/Method
	metadata  []string // names, each followed by its value
	do        rpc
	message   proto.Message // the only one that is sent; nil if it is the body or there are several
	body      []byte        // the encoded message of an exchange, a submit or a fetch
	parts     [][]byte      // of a submit on a stream, encoded
	streams   bool          // whether the client sends a stream
	chunks    *sign.Chunks  // the codes of a signed stream; nil if it is not signed
	options   []grpc.CallOption
}

// An rpc makes one call and keeps what it receives.
type rpc func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error

func prepare(step engine.Step, authority string) (*request, error) {
	id := strconv.FormatUint(uint64(step.ID), 10)
	r := &request{authority: authority, metadata: []string{"x-commute-id", id}}
	var err error
	switch step.Kind {
	case "call":
		r.method = wirepb.Bench_Echo_FullMethodName
		r.do, err = r.echo(step)
	case "get":
		r.method = wirepb.Bench_Download_FullMethodName
		r.do = r.download(step)
	case "put":
		r.method, r.streams = wirepb.Bench_Upload_FullMethodName, true
		r.do, err = r.upload(step)
	case "stream":
		r.method, r.streams = wirepb.Bench_Chat_FullMethodName, true
		r.do, err = chat(step)
	case "exchange":
		r.method, r.do = "/commute.bench.v1.Exchange/"+step.MessageKind, r.sendEncoded
	case "fetch":
		r.method, r.do, r.body = step.Path, r.sendEncoded, step.Content
		for name, value := range step.Headers {
			r.metadata = append(r.metadata, name, value)
		}
	case "submit":
		r.method, r.do = "/commute.bench.v1.Submit/"+step.MessageKind, r.sendEncoded
		if step.ChunkBytes > 0 {
			r.method, r.do, r.streams = "/commute.bench.v1.Submit/DiagStream", r.sendParts, true
		}
	}
	return r, err
}

// SetBody sets the encoded message of an exchange or a submit.
func (r *request) SetBody(body []byte) { r.body = body }

// SetParts sets the encoded parts of a submit.
func (r *request) SetParts(parts [][]byte) { r.parts = parts }

// Prove sets the metadata that proves who sends the request. A message that is signed is encoded here and
// sent as it is, so that the signature covers what is sent.
func (r *request) Prove(credential *auth.Credential) error {
	proof, err := credential.Prove(func() (sign.Request, error) {
		covered := sign.Request{Method: "POST", Authority: r.authority, Path: r.method}
		if r.streams {
			return covered, nil
		}
		encoded := r.body
		if r.message != nil {
			var err error
			if encoded, err = proto.Marshal(r.message); err != nil {
				return covered, err
			}
			r.options = append(r.options, grpc.ForceCodecV2(encodedRequest{encoding.GetCodecV2(encodingproto.Name), encoded}))
		}
		covered.Digest = sign.ContentDigest(encoded)
		return covered, nil
	})
	r.metadata, r.chunks = append(r.metadata, proof.Headers...), proof.Chunks
	return err
}

// code returns the code of a chunk of a signed stream, and nil if it is not signed.
func (r *request) code(chunk []byte, last bool) []byte {
	if r.chunks == nil {
		return nil
	}
	return r.chunks.Code(chunk, last)
}

func (r *request) send(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
	return r.do(metadata.AppendToOutgoingContext(ctx, r.metadata...), channel, call)
}

func (r *request) echo(step engine.Step) (rpc, error) {
	request, err := echoRequest(step)
	r.message = request
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		reply, err := wirepb.NewBenchClient(channel).Echo(ctx, request, r.options...)
		if err == nil {
			call.Receive(message{reply})
		}
		return err
	}, err
}

func (r *request) download(step engine.Step) rpc {
	request := &wirepb.DownloadRequest{Bytes: step.Bytes}
	r.message = request
	return func(ctx context.Context, channel grpc.ClientConnInterface, call *engine.Call) error {
		chunks, err := wirepb.NewBenchClient(channel).Download(ctx, request, r.options...)
		for err == nil {
			var chunk *wirepb.Chunk
			if chunk, err = chunks.Recv(); err == nil {
				call.Receive(engine.RawPart(chunk.Data))
			}
		}
		return unlessEOF(err)
	}
}

func (r *request) upload(step engine.Step) (rpc, error) {
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
		if len(chunks) == 0 && r.chunks != nil {
			chunks = []*wirepb.Chunk{{}} // whose code says that it is the last
		}
		for i, chunk := range chunks {
			chunk.Code = r.code(chunk.Data, i == len(chunks)-1)
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
