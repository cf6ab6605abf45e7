package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"commute/stacks/go/auth"
	"commute/stacks/go/sign"
)

const (
	// keyID is the id of the key that requests are signed with, as commute serve's.
	keyID      = "commute-1"
	hmacBytes  = 32
	maxNonces  = 1 << 16
	bearer     = "Bearer "
	bodyMissed = "cannot read the body: "
)

// An authenticator checks who sends a request, by the one scheme of this server.
type authenticator struct {
	scheme   string
	tokenKey *rsa.PublicKey
	verifier *sign.Verifier
}

// newAuthenticator makes fresh keys. It returns the file that clients need, with its name.
func newAuthenticator(scheme string) (a *authenticator, name, line string, err error) {
	switch scheme {
	case auth.JWT:
		key, err := rsa.GenerateKey(rand.Reader, tokenKeyBits)
		if err != nil {
			return nil, "", "", err
		}
		token, err := issueToken(key, time.Now().Unix())
		return &authenticator{scheme: scheme, tokenKey: &key.PublicKey}, "token.jwt", token, err
	case auth.HMAC:
		secret := make([]byte, hmacBytes)
		rand.Read(secret)
		key, err := sign.NewKey(keyID, secret)
		if err != nil {
			return nil, "", "", err
		}
		verifier := sign.NewVerifier(key, maxNonces)
		return &authenticator{scheme: scheme, verifier: verifier}, "hmac.key", base64.StdEncoding.EncodeToString(secret), nil
	}
	return nil, "", "", fmt.Errorf("--auth %s: write %s or %s", scheme, auth.JWT, auth.HMAC)
}

// An authEvent is what the log has about a request that was authenticated.
type authEvent struct {
	Auth     *string `json:"auth,omitempty"`
	VerifyNs *int64  `json:"verify_ns,omitempty"`
}

// took adds the time since start to that of verifying.
func (e *authEvent) took(start time.Time) {
	if e.VerifyNs == nil {
		e.VerifyNs = new(int64)
	}
	*e.VerifyNs += time.Since(start).Nanoseconds()
}

// authenticated returns the event, or an empty one for a request that was refused.
func (e authEvent) authenticated() authEvent {
	if e.Auth == nil {
		return authEvent{}
	}
	return e
}

// values returns the values of a header or of metadata by its name in lower case.
type values func(name string) []string

// only returns the value of a header that is there once, else nothing.
func (v values) only(name string) string {
	if found := v(name); len(found) == 1 {
		return found[0]
	}
	return ""
}

var (
	errNoToken  = errors.New("one header `authorization: Bearer TOKEN` is needed")
	errNoDigest = errors.New("`content-digest` is missing or malformed")
)

// head checks the token or the head's signature. Of a signed stream it returns the codes of the chunks.
func (a *authenticator) head(headers values, request sign.Request, streamed bool) (*sign.Chunks, error) {
	nowS := time.Now().Unix()
	if a.scheme == auth.JWT {
		given := headers.only("authorization")
		if len(given) < len(bearer) || !strings.EqualFold(given[:len(bearer)], bearer) {
			return nil, errNoToken
		}
		return nil, verifyToken(a.tokenKey, given[len(bearer):], nowS)
	}
	if !streamed {
		if request.Digest = headers.only("content-digest"); request.Digest == "" {
			return nil, errNoDigest
		}
	}
	return a.verifier.Verify(request, headers.only("signature-input"), headers.only("signature"), nowS)
}

// requireAuth lets pass what is authenticated, and requests for /health.
func (s *server) requireAuth(next http.Handler) http.Handler {
	if s.auth == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query, _ := strings.Cut(r.RequestURI, "?")
		if path == "/health" {
			next.ServeHTTP(w, r)
			return
		}
		event := &w.(*countedResponse).auth
		start := time.Now()
		headers := values(func(name string) []string { return r.Header.Values(name) })
		_, err := s.auth.head(headers, sign.Request{Method: r.Method, Authority: r.Host, Path: path, Query: query}, false)
		event.took(start)
		if err != nil {
			s.refuse(w, err)
			return
		}
		if s.auth.scheme == auth.JWT {
			event.Auth = &s.auth.scheme
			next.ServeHTTP(w, r)
			return
		}
		r.Body = &signedBody{r.Body, sha256.New(), headers.only("content-digest"), s.auth, event}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			// Nobody else would read the body of such a request.
			if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxMessageBytes)); err != nil {
				s.failToRead(w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) refuse(w http.ResponseWriter, err error) {
	challenge := map[string]string{auth.JWT: "Bearer", auth.HMAC: "Signature"}
	w.Header().Set("WWW-Authenticate", challenge[s.auth.scheme])
	http.Error(w, err.Error(), http.StatusUnauthorized)
}

// failToRead answers a request whose body could not be read, or is not the one that was signed.
func (s *server) failToRead(w http.ResponseWriter, err error) {
	if errors.Is(err, sign.ErrDigest) {
		s.refuse(w, err)
		return
	}
	http.Error(w, bodyMissed+err.Error(), http.StatusBadRequest)
}

// A signedBody fails at its end if its digest is not the signed one.
type signedBody struct {
	io.ReadCloser
	sum    hash.Hash
	signed string // the value of content-digest
	auth   *authenticator
	event  *authEvent
}

func (b *signedBody) Read(part []byte) (int, error) {
	n, err := b.ReadCloser.Read(part)
	start := time.Now()
	b.sum.Write(part[:n])
	if err == io.EOF {
		if sign.DigestField(b.sum.Sum(nil)) != b.signed {
			err = sign.ErrDigest
		} else {
			b.event.Auth = &b.auth.scheme
		}
	}
	b.event.took(start)
	return n, err
}
