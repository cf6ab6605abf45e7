package sign

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"
	"sync"
)

// WindowS is how long a signature holds, and how far in the future it may be, in seconds.
const WindowS = 60

// maxFieldBytes bounds the headers that are parsed.
const maxFieldBytes = 2048

// Why a request is refused.
var (
	ErrInput     = errors.New("`signature-input` is missing or malformed")
	ErrSignature = errors.New("`signature` is missing or malformed")
	ErrCovered   = errors.New("the signature does not cover exactly what it must")
	ErrKey       = errors.New("no key has this id")
	ErrExpired   = errors.New("signed too long ago")
	ErrFuture    = errors.New("signed in the future")
	ErrForged    = errors.New("the signature does not match the request")
	ErrReplayed  = errors.New("a request with this nonce was received before")
	ErrTooMany   = errors.New("too many requests at a time to tell new ones from repeated ones")
	ErrDigest    = errors.New("the body's digest is not the signed one")
	ErrChunk     = errors.New("a chunk does not match its code")
)

// The forms of the fields, as Sign writes them. Other forms of RFC 9421 are not accepted.
var (
	inputForm     = regexp.MustCompile(`^commute=((\([^()]*\));created=(\d{1,15});nonce="([A-Za-z0-9_-]{1,64})";alg="hmac-sha256";keyid="([!#-\[\]-~]+)")$`)
	signatureForm = regexp.MustCompile(`^commute=:([A-Za-z0-9+/]{43}=):$`)
)

// A Verifier accepts requests that are signed with a key, new, and not seen before. All goroutines may
// use it.
type Verifier struct {
	key       *Key
	maxNonces int

	mu     sync.Mutex
	seen   map[string]bool
	oldest []nonce // in the order in which they came
}

type nonce struct {
	text   string
	untilS int64
}

// NewVerifier returns a verifier that remembers at most this many nonces of requests within the window.
func NewVerifier(key *Key, maxNonces int) *Verifier {
	return &Verifier{key: key, maxNonces: maxNonces, seen: map[string]bool{}}
}

// Verify verifies the head of a request at a time in seconds since 1970. For a stream, whose Digest is
// empty, it returns the codes that its chunks must have. Nothing is remembered of a refused request.
func (v *Verifier) Verify(request Request, input, signature string, nowS int64) (*Chunks, error) {
	if len(input) > maxFieldBytes {
		return nil, ErrInput
	}
	claimed := inputForm.FindStringSubmatch(input)
	if claimed == nil {
		return nil, ErrInput
	}
	parameters, components, created, nonce, keyID := claimed[1], claimed[2], claimed[3], claimed[4], claimed[5]
	code := signatureForm.FindStringSubmatch(signature)
	if code == nil {
		return nil, ErrSignature
	}
	createdS, err := strconv.ParseInt(created, 10, 64)
	switch {
	case err != nil:
		return nil, ErrInput
	case components != request.components():
		return nil, ErrCovered
	case keyID != v.key.id:
		return nil, ErrKey
	case createdS < nowS-WindowS:
		return nil, ErrExpired
	case createdS > nowS+WindowS:
		return nil, ErrFuture
	}
	head := v.key.code([]byte(request.base(parameters)))
	given, err := base64.StdEncoding.DecodeString(code[1])
	if err != nil {
		return nil, ErrSignature
	}
	if !hmac.Equal(given, head[:]) {
		return nil, ErrForged
	}
	// Last, so that only who has the key can fill the memory.
	if err := v.remember(nonce, nowS); err != nil {
		return nil, err
	}
	if request.Digest != "" {
		return nil, nil
	}
	return v.key.Chunks(head), nil
}

// remember keeps a nonce for the longest that any request of now can be valid. Rather than forget one
// that could still be repeated, it refuses any if there are too many.
func (v *Verifier) remember(text string, nowS int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.oldest) > 0 && v.oldest[0].untilS < nowS {
		delete(v.seen, v.oldest[0].text)
		v.oldest = v.oldest[1:]
	}
	switch {
	case v.seen[text]:
		return ErrReplayed
	case len(v.oldest) == v.maxNonces:
		return ErrTooMany
	}
	v.seen[text] = true
	v.oldest = append(v.oldest, nonce{text, nowS + 2*WindowS})
	return nil
}

// Verify checks the code of the next chunk.
func (c *Chunks) Verify(chunk []byte, last bool, code []byte) error {
	if !hmac.Equal(c.Code(chunk, last), code) {
		return ErrChunk
	}
	return nil
}
