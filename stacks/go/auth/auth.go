// Package auth lets requests prove who sends them, with a bearer token or by a signature.
package auth

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"commute/stacks/go/sign"
)

// The schemes.
const (
	JWT  = "jwt"
	HMAC = "hmac"
)

// A Setting says how requests prove who sends them, and which files hold the secrets.
type Setting struct {
	Scheme    string `json:"scheme"`
	TokenFile string `json:"token_file"`
	KeyID     string `json:"key_id"`
	KeyFile   string `json:"key_file"`
}

// A Credential is a token or a key.
type Credential struct {
	bearer string    // the value of authorization
	key    *sign.Key // nil with a token
}

// Read reads what a setting names.
func Read(setting Setting) (*Credential, error) {
	switch setting.Scheme {
	case JWT:
		token, err := os.ReadFile(setting.TokenFile)
		return &Credential{bearer: "Bearer " + strings.TrimSpace(string(token))}, err
	case HMAC:
		key, err := sign.ReadKey(setting.KeyID, setting.KeyFile)
		return &Credential{key: key}, err
	}
	return nil, fmt.Errorf("auth has the unknown scheme %q", setting.Scheme)
}

// Signs reports whether requests are signed.
func (c *Credential) Signs() bool { return c.key != nil }

// A Proof is what a request carries.
type Proof struct {
	// Headers are names in lower case, each followed by its value.
	Headers []string
	// Chunks makes the codes of a signed stream; nil for any other request.
	Chunks *sign.Chunks
}

// Prove returns the proof of one request. It calls covered only if the request is signed.
func (c *Credential) Prove(covered func() (sign.Request, error)) (Proof, error) {
	if !c.Signs() {
		return Proof{Headers: []string{"authorization", c.bearer}}, nil
	}
	request, err := covered()
	if err != nil {
		return Proof{}, err
	}
	var nonce [sign.NonceBytes]byte
	rand.Read(nonce[:])
	fields := c.key.Sign(request, time.Now().Unix(), nonce)
	proof := Proof{Headers: []string{"signature-input", fields.Input, "signature", fields.Signature}}
	if request.Digest == "" {
		proof.Chunks = c.key.Chunks(fields.Code)
	} else {
		proof.Headers = append(proof.Headers, "content-digest", request.Digest)
	}
	return proof, nil
}
