package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"commute/stacks/go/engine"
)

const (
	maxMessageBytes = 1 << 20
	maxBodyBytes    = 1 << 30
	maxFileBytes    = 16 << 30
	requestID       = "x-commute-id"
)

// routes returns the routes of HTTP, the same over every version.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("POST /echo", s.echo)
	mux.HandleFunc("GET /bytes/{n}", download)
	mux.HandleFunc("PUT /upload", s.upload)
	mux.HandleFunc("POST /exchange/{kind}", s.exchange)
	mux.HandleFunc("POST /submit/{kind}", s.submit)
	return s.requireAuth(s.answerOwn(mux))
}

// An echoMessage is the message of the `call` step.
type echoMessage struct {
	StartTs *uint64 `json:"start_ts"`
	Padding string  `json:"padding,omitempty"`
}

// echo parses the message and encodes it again.
func (s *server) echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessageBytes))
	if err != nil {
		s.failToRead(w, err)
		return
	}
	var message echoMessage
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&message)
	if err == nil && (message.StartTs == nil || decoder.More()) {
		err = errors.New(`expected {"start_ts":<integer>} and optionally "padding"`)
	}
	if err != nil {
		http.Error(w, "not an echo message: "+err.Error(), http.StatusBadRequest)
		return
	}
	sendJSON(w, message)
}

// download sends the first n bytes of the seeded file, or a range of them.
func download(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
	if err != nil || n < 0 || n > maxFileBytes {
		http.Error(w, fmt.Sprintf("files have at most %d bytes", int64(maxFileBytes)), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(engine.SeededFile{}, 0, n))
}

// upload counts and digests the body.
func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	n, err := io.Copy(sum, http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		s.failToRead(w, err)
		return
	}
	sendJSON(w, struct {
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{n, hex.EncodeToString(sum.Sum(nil))})
}

func sendJSON(w http.ResponseWriter, value any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // impossible: integers and strings have a JSON form
	}
	body := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// A content counts and digests what passes in one direction.
type content struct {
	bytes uint64
	sum   hash.Hash
}

func newContent() content { return content{sum: sha256.New()} }

func (c *content) add(part []byte) {
	c.bytes += uint64(len(part))
	c.sum.Write(part)
}

func (c *content) digest() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// account logs every request once it has been handled: what net/http and quic-go still hold then
// is handed to the transport at once, unless the transport blocks.
func (s *server) account(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		event := requestEvent{
			Event:      "request",
			ID:         parseID(r.Header.Get(requestID)),
			Connection: r.Context().Value(connectionKey{}).(uint64),
			Protocol:   [...]string{1: "http/1.1", 2: "h2", 3: "h3"}[r.ProtoMajor],
			Method:     r.Method,
			Path:       r.RequestURI,
			Authority:  r.Host,
			StartNs:    engine.Now(),
			EarlyData:  r.TLS != nil && !r.TLS.HandshakeComplete,
		}
		w.Header()["Date"] = nil // commute serve sends none either
		if s.options.altSvc && r.ProtoMajor < 3 && r.TLS != nil {
			w.Header().Set("Alt-Svc", altSvc(r))
		}
		body := &countedBody{r.Body, newContent(), event.StartNs}
		r.Body = body
		response := &countedResponse{ResponseWriter: w, status: http.StatusOK, content: newContent()}
		next.ServeHTTP(response, r)
		event.EndNs = engine.Now()
		event.ReceivedNs, event.RespondedNs = &body.readNs, response.beganNs
		event.RequestBytes, event.RequestDigest = body.bytes, body.digest()
		event.ResponseBytes, event.ResponseDigest = response.bytes, response.digest()
		event.exchangeEvent, event.fieldsEvent = response.exchange, response.fields
		event.authEvent = response.auth.authenticated()
		event.Status = response.status
		event.Broken = response.failed || r.Context().Err() != nil
		s.log.write(event)
	})
}

// altSvc advertises HTTP/3 on the port that the request came to.
func altSvc(r *http.Request) string {
	port := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr).Port
	return fmt.Sprintf(`h3=":%d"; ma=86400`, port)
}

func parseID(text string) *uint32 {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil
	}
	short := uint32(id)
	return &short
}

type countedBody struct {
	io.ReadCloser
	content
	readNs int64 // when its last byte was read, or its head
}

func (b *countedBody) Read(part []byte) (int, error) {
	n, err := b.ReadCloser.Read(part)
	if n > 0 {
		b.readNs = engine.Now()
	}
	b.add(part[:n])
	return n, err
}

type countedResponse struct {
	http.ResponseWriter
	content
	exchange exchangeEvent
	fields   fieldsEvent
	auth     authEvent
	status   int
	beganNs  *int64 // just before its first byte was handed to net/http
	failed   bool   // the client has left
}

func (r *countedResponse) begin() {
	if r.beganNs == nil {
		now := engine.Now()
		r.beganNs = &now
	}
}

func (r *countedResponse) WriteHeader(status int) {
	r.begin()
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *countedResponse) Write(part []byte) (int, error) {
	r.begin()
	n, err := r.ResponseWriter.Write(part)
	r.add(part[:n])
	r.failed = r.failed || err != nil
	return n, err
}
