package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// An answer is what requests of a study's own with a method and path are answered with
// (docs/server.md, Answers).
type answer struct {
	Method          string   `json:"method"`
	Path            string   `json:"path"` // and query
	GRPC            bool     `json:"grpc"`
	ContentType     string   `json:"content_type"`
	ContentEncoding string   `json:"content_encoding"`
	Body            string   `json:"body"` // a file beside the list; empty: none
	LoggedFields    []string `json:"logged_fields"`

	content []byte
}

// answers are the answers by method and path, separated by a space.
type answers map[string]answer

func readAnswers(file string) (answers, error) {
	all := answers{}
	if file == "" {
		return all, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []answer
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, a := range list {
		if a.Body != "" {
			if a.content, err = os.ReadFile(filepath.Join(filepath.Dir(file), a.Body)); err != nil {
				return nil, err
			}
		}
		slices.Sort(a.LoggedFields)
		all[a.Method+" "+a.Path] = a
	}
	return all, nil
}

// answerOwn answers the requests that have an answer, and passes on the others.
func (s *server) answerOwn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, found := s.answers[r.Method+" "+r.RequestURI]
		if !found || a.GRPC {
			next.ServeHTTP(w, r)
			return
		}
		w.(*countedResponse).fields = a.digest(r.Header.Values)
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBodyBytes)); err != nil {
			s.failToRead(w, err)
			return
		}
		// Without one, net/http would look at the body for a type.
		w.Header()["Content-Type"] = nil
		if a.ContentType != "" {
			w.Header().Set("Content-Type", a.ContentType)
		}
		if a.ContentEncoding != "" {
			w.Header().Set("Content-Encoding", a.ContentEncoding)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(a.content)))
		w.Write(a.content)
	})
}

// services returns the gRPC services of the answers, with one method for each.
func (all answers) services() []grpc.ServiceDesc {
	var services []grpc.ServiceDesc
	for _, a := range all {
		service, method, ok := strings.Cut(strings.TrimPrefix(a.Path, "/"), "/")
		if !a.GRPC || !ok {
			continue
		}
		at := slices.IndexFunc(services, func(s grpc.ServiceDesc) bool { return s.ServiceName == service })
		if at < 0 {
			at = len(services)
			services = append(services, grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)})
		}
		handler := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var message []byte
			if err := decode(&message); err != nil {
				return nil, err
			}
			headers, _ := metadata.FromIncomingContext(ctx)
			ctx.Value(rpcKey{}).(*rpc).event.fieldsEvent = a.digest(headers.Get)
			return a.content, nil
		}
		services[at].Methods = append(services[at].Methods, grpc.MethodDesc{MethodName: method, Handler: handler})
	}
	return services
}

// digest returns the digest of the header fields that are logged, as messages::fields_digest makes it.
func (a answer) digest(values func(string) []string) fieldsEvent {
	sum := sha256.New()
	for _, name := range a.LoggedFields {
		if of := values(name); len(of) > 0 {
			fmt.Fprintf(sum, "%s: %s\n", name, strings.Join(of, ", "))
		}
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	return fieldsEvent{&digest}
}
