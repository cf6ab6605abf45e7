// Package sign signs requests by RFC 9421 with HMAC-SHA256 and RFC 9530, and verifies them, as
// crates/shared/sign does (docs/driver-protocol.md, Auth).
package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	// NonceBytes is the length of a nonce, which must be random.
	NonceBytes = 16
	// CodeBytes is the length of the code of a request or of a chunk.
	CodeBytes = sha256.Size

	label          = "commute"
	minSecretBytes = 32 // shorter ones weaken the code (RFC 2104, section 3)
)

// A Key is a secret that client and server share, and the id by which requests name it.
type Key struct {
	id     string
	secret []byte
}

// ReadKey reads the secret of a key, in base64 on one line.
func ReadKey(id, file string) (*Key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return NewKey(id, secret)
}

// NewKey returns an error for a short secret, and for an id that is empty or holds other than
// visible ASCII without quotes and backslashes.
func NewKey(id string, secret []byte) (*Key, error) {
	foreign := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	if id == "" || strings.ContainsFunc(id, foreign) {
		return nil, fmt.Errorf("%q cannot be the id of a key", id)
	}
	if len(secret) < minSecretBytes {
		return nil, errors.New("the secret has less than 32 bytes")
	}
	return &Key{id, secret}, nil
}

// A Request is what a signature covers.
type Request struct {
	Method    string // over gRPC POST
	Authority string // as sent; its case does not matter
	Path      string // over gRPC /package.Service/Method
	Query     string // without its question mark
	// Digest is the value of content-digest, or empty for a stream, whose chunks have codes of
	// their own.
	Digest string
}

// Fields are the values of the headers that a signature adds to content-digest.
type Fields struct {
	Input, Signature string
	Code             [CodeBytes]byte // the signature itself, from which the codes of chunks go on
}

// Sign signs a request at a time in seconds since 1970.
func (k *Key) Sign(request Request, createdS int64, nonce [NonceBytes]byte) Fields {
	parameters := fmt.Sprintf(`%s;created=%d;nonce="%s";alg="hmac-sha256";keyid="%s"`,
		request.components(), createdS, base64.RawURLEncoding.EncodeToString(nonce[:]), k.id)
	code := k.code([]byte(request.base(parameters)))
	return Fields{
		Input:     label + "=" + parameters,
		Signature: label + "=:" + base64.StdEncoding.EncodeToString(code[:]) + ":",
		Code:      code,
	}
}

func (r Request) components() string {
	if r.Digest == "" {
		return `("@method" "@authority" "@path" "@query")`
	}
	return `("@method" "@authority" "@path" "@query" "content-digest")`
}

// base returns the text that is signed (RFC 9421, section 2.5).
func (r Request) base(parameters string) string {
	var base strings.Builder
	fmt.Fprintf(&base, "\"@method\": %s\n\"@authority\": %s\n\"@path\": %s\n\"@query\": ?%s\n",
		r.Method, strings.ToLower(r.Authority), r.Path, r.Query)
	if r.Digest != "" {
		fmt.Fprintf(&base, "\"content-digest\": %s\n", r.Digest)
	}
	fmt.Fprintf(&base, "\"@signature-params\": %s", parameters)
	return base.String()
}

func (k *Key) code(parts ...[]byte) (code [CodeBytes]byte) {
	mac := hmac.New(sha256.New, k.secret)
	for _, part := range parts {
		mac.Write(part)
	}
	mac.Sum(code[:0])
	return code
}

// ContentDigest returns the value of content-digest for a body.
func ContentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return DigestField(sum[:])
}

// DigestField returns the value of content-digest for a body with this SHA-256.
func DigestField(sum []byte) string {
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

// chunkPurpose tells a chunk's code from any other that the same key makes.
var chunkPurpose = []byte("commute chunk 1\x00")

// Chunks are those of one signed stream, in order. Each code covers the one before, so that no chunk
// can be moved, and whether it is the last, so that none can be cut off.
type Chunks struct {
	key      *Key
	previous [CodeBytes]byte
}

// Chunks begins a stream whose head has this code.
func (k *Key) Chunks(head [CodeBytes]byte) *Chunks { return &Chunks{k, head} }

// Code returns the code of the next chunk.
func (c *Chunks) Code(chunk []byte, last bool) []byte {
	end := []byte{0}
	if last {
		end[0] = 1
	}
	c.previous = c.key.code(chunkPurpose, c.previous[:], end, chunk)
	return append([]byte(nil), c.previous[:]...)
}
