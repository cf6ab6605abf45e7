package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

const (
	tokenKeyBits = 2048
	tokenLifeS   = 3600
	// leewayS is how far clocks may be apart.
	leewayS = 60
)

var (
	errToken          = errors.New("the token is malformed")
	errTokenAlgorithm = errors.New("the token's algorithm is not RS256")
	errTokenSignature = errors.New("the token's signature does not match")
	errTokenExpired   = errors.New("the token has expired")
	errTokenFuture    = errors.New("the token was issued in the future")
)

// A tokenHeader is the first part of a JSON Web Token (RFC 7519).
type tokenHeader struct {
	Algorithm string          `json:"alg"`
	Critical  json.RawMessage `json:"crit,omitempty"` // extensions that a verifier must understand
}

// tokenClaims are its second part, in seconds since 1970.
type tokenClaims struct {
	IssuedAt *int64 `json:"iat"`
	Expires  *int64 `json:"exp"`
}

// issueToken returns a token that an RSA key signed.
func issueToken(key *rsa.PrivateKey, nowS int64) (string, error) {
	expires := nowS + tokenLifeS
	signed := tokenPart(tokenHeader{Algorithm: "RS256"}) + "." + tokenPart(tokenClaims{&nowS, &expires})
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// verifyToken checks a token's signature and claims. The algorithm is fixed, whatever its header says.
func verifyToken(key *rsa.PublicKey, token string, nowS int64) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errToken
	}
	var header tokenHeader
	if err := parseTokenPart(parts[0], &header); err != nil {
		return err
	}
	if header.Algorithm != "RS256" {
		return errTokenAlgorithm
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || header.Critical != nil {
		return errToken
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil {
		return errTokenSignature
	}
	var claims tokenClaims
	if err := parseTokenPart(parts[1], &claims); err != nil {
		return err
	}
	switch {
	case claims.IssuedAt == nil || claims.Expires == nil:
		return errToken
	case nowS-leewayS >= *claims.Expires:
		return errTokenExpired
	case *claims.IssuedAt > nowS+leewayS:
		return errTokenFuture
	}
	return nil
}

func tokenPart(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // impossible: numbers and strings have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseTokenPart(part string, value any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || json.Unmarshal(text, value) != nil {
		return errToken
	}
	return nil
}
