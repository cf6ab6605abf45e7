// Package httpcall turns steps into HTTP requests and sends them, in the same way for every
// stack that has an http.Client.
package httpcall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"

	"commute/stacks/go/auth"
	"commute/stacks/go/engine"
	"commute/stacks/go/exchange"
	"commute/stacks/go/sign"
)

// A Request is a step as an HTTP request.
type Request struct {
	Method      string
	origin      *url.URL
	path        string // and query
	target      *url.URL
	headers     map[string]string // of a fetch
	id          string
	contentType string
	encoding    string // of an exchange's bodies, in both directions; else empty
	body        []byte
	proof       []string // header names, each followed by its value
}

// Prepare makes the request of a step. The body of an exchange or a submit is set later.
func Prepare(origin *url.URL, codec string, step engine.Step) (*Request, error) {
	r := &Request{origin: origin, id: strconv.FormatUint(uint64(step.ID), 10)}
	switch step.Kind {
	case "call":
		r.Method, r.path = http.MethodPost, "/echo"
		r.contentType, r.body = "application/json", []byte(step.Body)
	case "exchange", "submit":
		if step.ChunkBytes > 0 {
			return nil, &engine.Unsupported{What: "step submit", Reason: "only gRPC sends a message in parts"}
		}
		r.Method, r.path = http.MethodPost, "/"+step.Kind+"/"+step.MessageKind
		r.contentType, r.encoding = exchange.MediaType(codec)
	case "fetch":
		r.Method, r.path = step.Method, step.Path
		r.headers, r.body = step.Headers, step.Content
	case "get":
		r.Method, r.path = http.MethodGet, fmt.Sprintf("/bytes/%d", step.Bytes)
	case "put":
		file, err := engine.Seeded(step.Bytes)
		if err != nil {
			return nil, err
		}
		r.Method, r.path = http.MethodPut, "/upload"
		r.contentType, r.body = "application/octet-stream", file
	default:
		return nil, &engine.Unsupported{What: "step " + step.Kind, Reason: "only gRPC streams messages here"}
	}
	var err error
	r.target, err = origin.Parse(r.path)
	return r, err
}

// SetBody sets the body of an exchange or a submit.
func (r *Request) SetBody(body []byte) { r.body = body }

// Prove sets the headers that prove who sends the request.
func (r *Request) Prove(credential *auth.Credential) error {
	proof, err := credential.Prove(func() (sign.Request, error) {
		path, query, _ := strings.Cut(r.path, "?")
		return sign.Request{Method: r.Method, Authority: r.origin.Host, Path: path, Query: query, Digest: sign.ContentDigest(r.body)}, nil
	})
	r.proof = proof.Headers
	return err
}

// Do sends the request and receives the whole response.
func Do(ctx context.Context, client *http.Client, request *Request, call *engine.Call, hooks *httptrace.ClientTrace) error {
	response, err := client.Do(request.build(httptrace.WithClientTrace(ctx, hooks), call))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	call.SetStatus(response.StatusCode)
	if err := request.receive(response.Body, call); err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		return &engine.CallError{Kind: "status", Detail: fmt.Sprintf("status %d", response.StatusCode)}
	}
	return nil
}

// receive keeps the body: as it comes, or in one piece if it is to be decoded.
func (r *Request) receive(body io.Reader, call *engine.Call) error {
	if r.encoding == "" {
		return call.ReadAll(body)
	}
	whole, err := io.ReadAll(body)
	call.Receive(engine.RawPart(whole))
	return err
}

// Hooks returns the trace hooks that net/http and quic-go have in common.
func Hooks(call *engine.Call) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		WroteHeaders:         call.CountAttempt,
		GotFirstResponseByte: call.StampFirstByte,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				call.StampRequestSent()
			}
		},
	}
}

// build makes the request that http.NewRequest would make, with a body that counts its reads.
func (r *Request) build(ctx context.Context, call *engine.Call) *http.Request {
	request := (&http.Request{
		Method:        r.Method,
		URL:           r.target,
		Host:          r.origin.Host,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"X-Commute-Id": {r.id}},
		ContentLength: int64(len(r.body)),
	}).WithContext(ctx)
	if r.contentType != "" {
		request.Header.Set("Content-Type", r.contentType)
	}
	if r.contentType != "" || r.headers["content-type"] != "" {
		request.Body = http.NoBody
	}
	for name, value := range r.headers {
		request.Header.Set(name, value)
	}
	if r.encoding != "" {
		request.Header.Set("Accept-Encoding", r.encoding)
		if r.encoding != exchange.Identity {
			request.Header.Set("Content-Encoding", r.encoding)
		}
	}
	for i := 0; i < len(r.proof); i += 2 {
		request.Header.Set(r.proof[i], r.proof[i+1])
	}
	if len(r.body) > 0 {
		request.Body = &countedBody{bytes.NewReader(r.body), call}
		request.GetBody = func() (io.ReadCloser, error) {
			return &countedBody{bytes.NewReader(r.body), call}, nil
		}
	}
	return request
}

// countedBody counts the bytes that the library reads of a body.
type countedBody struct {
	reader *bytes.Reader
	call   *engine.Call
}

func (b *countedBody) Read(buffer []byte) (int, error) {
	n, err := b.reader.Read(buffer)
	b.call.AddRequestBytes(n)
	return n, err
}

func (b *countedBody) Close() error { return nil }
