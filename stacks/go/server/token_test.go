package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
)

const nowS = 1_763_757_325

func tokenKey(t *testing.T) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, tokenKeyBits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func token(t *testing.T, key *rsa.PrivateKey) string {
	issued, err := issueToken(key, nowS)
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

func TestATokenHoldsFromItsIssueToItsEndGiveOrTakeTheLeeway(t *testing.T) {
	key := tokenKey(t)
	issued := token(t, key)
	for atS, want := range map[int64]error{
		nowS - leewayS: nil, nowS - leewayS - 1: errTokenFuture,
		nowS + tokenLifeS + leewayS - 1: nil, nowS + tokenLifeS + leewayS: errTokenExpired,
	} {
		if err := verifyToken(&key.PublicKey, issued, atS); err != want {
			t.Errorf("at %d s: %v, want %v", atS-nowS, err, want)
		}
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	key := tokenKey(t)
	issued := token(t, key)
	parts := strings.Split(issued, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	// The public key is known to all, so a verifier that let the header choose would take a code made
	// with it.
	confused := encode(`{"alg":"HS256"}`) + "." + parts[1]
	code := hmac.New(sha256.New, x509.MarshalPKCS1PublicKey(&key.PublicKey))
	code.Write([]byte(confused))
	for forged, want := range map[string]error{
		parts[0] + "." + encode(`{"iat":0,"exp":9999999999}`) + "." + parts[2]: errTokenSignature,
		token(t, tokenKey(t)):                                                      errTokenSignature,
		parts[0] + "." + parts[1] + ".":                                            errTokenSignature,
		encode(`{"alg":"none"}`) + "." + parts[1] + ".":                            errTokenAlgorithm,
		confused + "." + encode(string(code.Sum(nil))):                             errTokenAlgorithm,
		encode(`{"alg":"RS256","crit":["exp"]}`) + "." + parts[1] + "." + parts[2]: errToken,
		parts[0] + "." + parts[1]:                                                  errToken,
		issued + "=":                                                               errToken,
		issued + "." + parts[2]:                                                    errToken,
		"":                                                                         errToken,
	} {
		if err := verifyToken(&key.PublicKey, forged, nowS); err != want {
			t.Errorf("%s: %v, want %v", forged, err, want)
		}
	}
}
