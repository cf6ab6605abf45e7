// Package origin holds what every stack needs to know about the server: its URL, the authorities
// to trust, the client's certificate and the session tickets.
package origin

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"sync"

	"commute/stacks/go/engine"
)

// An Origin is the server named by a setup.
type Origin struct {
	URL                *url.URL
	roots              *x509.CertPool
	clientCertificates []tls.Certificate

	mu      sync.Mutex
	tickets tls.ClientSessionCache
}

// New reads a setup and the files that it names.
func New(setup engine.Setup) (*Origin, error) {
	at, err := url.Parse(setup.URL)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return nil, fmt.Errorf("%q is neither https://name:port nor http://name:port", setup.URL)
	}
	pem, err := os.ReadFile(setup.CAFile)
	if err != nil {
		return nil, err
	}
	o := &Origin{URL: at, roots: x509.NewCertPool()}
	if !o.roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate", setup.CAFile)
	}
	if setup.ClientCertFile != "" {
		certificate, err := tls.LoadX509KeyPair(setup.ClientCertFile, setup.ClientKeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		o.clientCertificates = []tls.Certificate{certificate}
	}
	return o, nil
}

// Plaintext reports whether the origin is used without TLS.
func (o *Origin) Plaintext() bool { return o.URL.Scheme == "http" }

// TLS returns the configuration for connections opened in mode: crypto/tls's defaults except for
// trust, client certificate and tickets. Cold discards every ticket.
func (o *Origin) TLS(mode string) *tls.Config {
	o.mu.Lock()
	defer o.mu.Unlock()
	if mode == engine.Cold {
		o.tickets = tls.NewLRUClientSessionCache(0)
	}
	return &tls.Config{
		RootCAs:            o.roots,
		Certificates:       o.clientCertificates,
		ClientSessionCache: tickets{o.tickets, mode != engine.Cold},
	}
}

// tickets stores every ticket received, and offers them only if offered is set.
type tickets struct {
	tls.ClientSessionCache
	offered bool
}

func (t tickets) Get(key string) (*tls.ClientSessionState, bool) {
	if !t.offered {
		return nil, false
	}
	return t.ClientSessionCache.Get(key)
}
