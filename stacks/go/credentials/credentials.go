// Package credentials makes the certificates and keys of a server under test and of its clients, as
// commute serve does.
package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// KeyP256 and KeyRSA2048 are the types of keys.
	KeyP256, KeyRSA2048 = "p256", "rsa-2048"
	// ChainTypical and ChainLong are lengths of the chain, as of commute serve: about what public CAs
	// send, and more than a server may send over QUIC before the client's address is validated.
	ChainTypical, ChainLong = "typical", "long"
	// paddingHead is what the padding's extension takes besides its content.
	paddingHead = 4 + 12 + 4
	// certificateLife is how long certificates are valid; a server runs for one cell.
	certificateLife = 24 * time.Hour
)

// paddingID is within the arc for documentation (RFC 5612).
var paddingID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 32473, 1}

var lengths = map[string]int{ChainTypical: 2300, ChainLong: 8000}

// Credentials are the certificates and keys of both sides, made at each start:
// root -> intermediate -> leaf, and root -> client, as commute serve's.
type Credentials struct {
	chain tls.Certificate // leaf and intermediate, with the leaf's key
	root  *x509.Certificate
	files map[string][]byte // for clients, by name
	// Where the secrets of sessions are written, if anywhere.
	KeyLog io.Writer
}

// An issuer signs certificates. The first one is its own.
type issuer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// New makes credentials for a server with these names, with keys of a type and a chain of a length.
func New(names []string, kind, chain string) (*Credentials, error) {
	wanted, known := lengths[chain]
	if !known {
		return nil, fmt.Errorf("--chain %s: write %s or %s", chain, ChainTypical, ChainLong)
	}
	rootKey, err := newKey(kind)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(rootKey.Public())
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(public)
	// Clients find an issuer by its name and may have the roots of two servers.
	authority := func(name string) *x509.Certificate {
		return &x509.Certificate{
			Subject:               pkix.Name{CommonName: name},
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
	}
	root := &issuer{key: rootKey}
	root.certificate = authority("commute root " + hex.EncodeToString(digest[:4]))
	if root.certificate, err = root.sign(root.certificate, rootKey); err != nil {
		return nil, err
	}
	intermediate, err := root.issue(authority("commute intermediate"), kind)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "commute server"},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	server, err := intermediate.issue(leaf, kind)
	if err != nil {
		return nil, err
	}
	if missing := wanted - len(server.certificate.Raw) - len(intermediate.certificate.Raw); missing > paddingHead {
		padding := pkix.Extension{Id: paddingID, Value: make([]byte, missing-paddingHead)}
		leaf.ExtraExtensions = []pkix.Extension{padding}
		if server.certificate, err = intermediate.sign(leaf, server.key); err != nil {
			return nil, err
		}
	}
	client, err := root.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "commute client"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, kind)
	if err != nil {
		return nil, err
	}
	clientKey, err := x509.MarshalPKCS8PrivateKey(client.key)
	if err != nil {
		return nil, err
	}
	return &Credentials{
		chain: tls.Certificate{
			Certificate: [][]byte{server.certificate.Raw, intermediate.certificate.Raw},
			PrivateKey:  server.key,
		},
		root: root.certificate,
		files: map[string][]byte{
			"ca.pem":     block("CERTIFICATE", root.certificate.Raw),
			"client.pem": block("CERTIFICATE", client.certificate.Raw),
			"client.key": block("PRIVATE KEY", clientKey),
		},
	}, nil
}

func newKey(kind string) (crypto.Signer, error) {
	switch kind {
	case KeyP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case KeyRSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return nil, fmt.Errorf("--key %s: write %s or %s", kind, KeyP256, KeyRSA2048)
}

// issue makes a key and signs a certificate for it.
func (i *issuer) issue(template *x509.Certificate, kind string) (*issuer, error) {
	key, err := newKey(kind)
	if err != nil {
		return nil, err
	}
	certificate, err := i.sign(template, key)
	return &issuer{certificate, key}, err
}

func (i *issuer) sign(template *x509.Certificate, key crypto.Signer) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-certificateLife)
	template.NotAfter = time.Now().Add(certificateLife)
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, key.Public(), i.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// AddSecret adds a file for clients that its owner only may read.
func (c *Credentials) AddSecret(name, line string) { c.files[name] = []byte(line) }

// Write writes the files that clients need, keys and secrets readable by their owner only.
func (c *Credentials) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range c.files {
		mode := os.FileMode(0o600)
		if filepath.Ext(name) == ".pem" {
			mode = 0o644
		}
		path := filepath.Join(folder, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err // its mode or link must not be kept
		}
		if err := os.WriteFile(path, text, mode); err != nil {
			return err
		}
	}
	return nil
}

// TLS returns the configuration of a port: crypto/tls's defaults except for the groups, which are
// commute serve's, so that handshakes of both servers have the same size.
func (c *Credentials) TLS(demandClientCertificate bool) *tls.Config {
	config := &tls.Config{
		Certificates:     []tls.Certificate{c.chain},
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
		KeyLogWriter:     c.KeyLog,
	}
	if demandClientCertificate {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AddCert(c.root)
	}
	return config
}

// WriteServer writes the server's own chain and key, as chain.pem and server.key, into a folder that
// nobody else may enter.
func (c *Credentials) WriteServer(folder string) error {
	key, err := x509.MarshalPKCS8PrivateKey(c.chain.PrivateKey)
	if err != nil {
		return err
	}
	var chain []byte
	for _, certificate := range c.chain.Certificate {
		chain = append(chain, block("CERTIFICATE", certificate)...)
	}
	if err := os.WriteFile(filepath.Join(folder, "chain.pem"), chain, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "server.key"), block("PRIVATE KEY", key), 0o600)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// ChainBytes returns the length of the chain as sent.
func (c *Credentials) ChainBytes() int {
	total := 0
	for _, certificate := range c.chain.Certificate {
		total += len(certificate)
	}
	return total
}
