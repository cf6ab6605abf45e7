// Package origin holds what every stack is told of the server: where it is, whom to trust,
// who the client is and which tickets it has.
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

// An Origin is the server of a setup.
type Origin struct {
	URL   *url.URL
	roots *x509.CertPool
	own   []tls.Certificate

	mu      sync.Mutex
	tickets tls.ClientSessionCache
}

// New reads a setup and the files it names.
func New(setup engine.Setup) (*Origin, error) {
	at, err := url.Parse(setup.URL)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("%q is not https://name:port", setup.URL)
	}
	pem, err := os.ReadFile(setup.CAFile)
	if err != nil {
		return nil, err
	}
	o := &Origin{URL: at, roots: x509.NewCertPool()}
	if !o.roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", setup.CAFile)
	}
	if setup.ClientCertFile != "" {
		own, err := tls.LoadX509KeyPair(setup.ClientCertFile, setup.ClientKeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		o.own = []tls.Certificate{own}
	}
	return o, nil
}

// TLS returns the settings of the connections to be opened in mode, as crypto/tls ships
// them but for trust, identity and tickets. Cold throws every ticket away.
func (o *Origin) TLS(mode string) *tls.Config {
	o.mu.Lock()
	defer o.mu.Unlock()
	if mode == engine.Cold {
		o.tickets = tls.NewLRUClientSessionCache(0)
	}
	return &tls.Config{
		RootCAs:            o.roots,
		Certificates:       o.own,
		ClientSessionCache: tickets{o.tickets, mode != engine.Cold},
	}
}

// tickets keeps every ticket that comes but gives them only where they are to be used.
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
