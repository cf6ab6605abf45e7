// Command app is the application that the interoperability matrix asks (interop/README.md): behind proxies as
// their upstream without TLS, and by itself as the servers of Go's net/http and of quic-go. With -client it is a client
// of these libraries.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	files := flag.String("files", ".", "folder of the files to serve")
	cert := flag.String("cert", "", "certificate chain, PEM; without it the server has no TLS")
	key := flag.String("key", "", "private key, PEM")
	client := flag.String("client", "", "URL of commute serve; asks it instead of serving")
	ca := flag.String("ca", "", "the CA's certificate for -client, PEM")
	flag.Parse()
	if *client != "" {
		if err := runClient(*client, *ca); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := serve(*listen, *cert, *key, newApp(*files)); err != nil {
		log.SetFlags(0)
		log.Fatal(err)
	}
}

func serve(listen, cert, key string, app http.Handler) error {
	tcp, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if cert == "" {
		return http.Serve(tcp, app)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		return err
	}
	over3 := &http3.Server{
		Handler:    app,
		TLSConfig:  http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		QUICConfig: &quic.Config{Allow0RTT: true},
	}
	failed := make(chan error, 2)
	go func() { failed <- over3.Serve(udp) }()
	offer := fmt.Sprintf(`h3=":%d"; ma=3600`, tcp.Addr().(*net.TCPAddr).Port)
	overTCP := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Alt-Svc", offer)
			app.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		ErrorLog:  log.New(os.Stderr, "", 0),
	}
	go func() { failed <- overTCP.ServeTLS(tcp, "", "") }()
	return <-failed
}
