package main

import (
	"context"
	"net/http"

	"commute/stacks/go/benchpb"
	"commute/stacks/go/exchange"
	"commute/stacks/go/message"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	maxSubmitBytes = 64 << 20
	// partOverhead is what a part has besides its data: tags, lengths and a code of 32 bytes.
	partOverhead = 64
	// submitted is the one kind of message that is submitted.
	submitted = "Diag"
)

// submit decodes a message and answers with a receipt.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	kind, found := message.Find(r.PathValue("kind"))
	if !found || kind.Name != submitted {
		http.Error(w, "unknown kind of message", http.StatusNotFound)
		return
	}
	offer, body, ok := s.readMessage(w, r)
	if !ok {
		return
	}
	decodeNs, err := s.answerer.Decode(offer, kind, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.(*countedResponse).exchange = exchangeEvent{Codec: &offer.Codec, DecodeNs: &decodeNs}
	sendJSON(w, struct {
		Bytes int `json:"bytes"`
	}{len(body)})
}

// submitMethods returns the service of crates/shared/messages/proto/commute/bench/v1/submit.proto.
func (s *server) submitMethods() grpc.ServiceDesc {
	offer, _ := exchange.Find("application/protobuf", "")
	kind, _ := message.Find(submitted)
	decode := func(ctx context.Context, body []byte) error {
		decodeNs, err := s.answerer.Decode(offer, kind, body)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		event := &ctx.Value(rpcKey{}).(*rpc).event
		if event.DecodeNs != nil {
			decodeNs += *event.DecodeNs
		}
		event.exchangeEvent = exchangeEvent{Codec: &offer.Codec, DecodeNs: &decodeNs}
		return nil
	}
	whole := func(_ any, ctx context.Context, receive func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var body []byte
		if err := receive(&body); err != nil {
			return nil, err
		}
		return &benchpb.Receipt{Bytes: uint64(len(body))}, decode(ctx, body)
	}
	inParts := func(_ any, stream grpc.ServerStream) error {
		next := func() (*benchpb.Part, error) {
			part := &benchpb.Part{}
			return part, stream.RecvMsg(part)
		}
		var bytes uint64
		// Each part is decoded on its own, so that no more than two are held at a time.
		err := receiveChunks(stream.Context(), next, func(data []byte) error {
			if bytes += uint64(len(data)); bytes > maxSubmitBytes {
				return status.Errorf(codes.ResourceExhausted, "a submission has at most %d bytes", maxSubmitBytes)
			}
			return decode(stream.Context(), data)
		})
		if err != nil {
			return err
		}
		return stream.SendMsg(&benchpb.Receipt{Bytes: bytes})
	}
	return grpc.ServiceDesc{
		ServiceName: "commute.bench.v1.Submit",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Diag", Handler: whole}},
		Streams:     []grpc.StreamDesc{{StreamName: "DiagStream", Handler: inParts, ClientStreams: true}},
	}
}
