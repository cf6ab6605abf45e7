// Command server is a second server under test, from Go's libraries: net/http over TCP, quic-go
// over QUIC, and grpc-go. It takes the arguments of `commute serve` that the lab needs, answers the
// same routes and writes the same log (docs/server.md).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"commute/stacks/go/credentials"
	"commute/stacks/go/module"
)

// options are the command line.
type options struct {
	listen, mtlsListen, names []string
	plaintextListen           []string
	auth                      string
	key, chain                string
	credentials, log          string
	keyLog, qlog, answers     string
	altSvc, earlyData, grpc   bool
}

func main() {
	if err := run(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	list := func(to *[]string, name, usage string) {
		flag.Func(name, usage+"; repeatable", func(value string) error {
			*to = append(*to, value)
			return nil
		})
	}
	list(&o.listen, "listen", "`address` to listen on, over TCP and UDP")
	list(&o.mtlsListen, "mtls-listen", "`address` to listen on and demand a client certificate")
	list(&o.plaintextListen, "plaintext-listen", "`address` to listen on over TCP without TLS")
	list(&o.names, "name", "host `name` or IP address in the certificate")
	flag.StringVar(&o.key, "key", credentials.KeyP256, "type of all keys: p256 or rsa-2048")
	flag.StringVar(&o.chain, "chain", credentials.ChainTypical, "length of the certificate chain: typical or long")
	flag.StringVar(&o.credentials, "credentials", "", "`folder` for ca.pem, client.pem, client.key, and token.jwt or hmac.key")
	flag.StringVar(&o.auth, "auth", "", "how every request except for /health must prove who sends it: jwt or hmac")
	flag.StringVar(&o.log, "log", os.DevNull, "`file` to append the log to")
	flag.StringVar(&o.answers, "answers", "", "JSON `file` of answers to requests of a study's own")
	flag.StringVar(&o.keyLog, "keylog", "", "`file` to append the secrets of TLS sessions to")
	flag.StringVar(&o.qlog, "qlog", "", "`folder` for a qlog file per QUIC connection")
	flag.BoolVar(&o.altSvc, "alt-svc", false, "advertise HTTP/3 over TCP")
	flag.BoolVar(&o.earlyData, "early-data", false, "accept early data (0-RTT) over QUIC")
	flag.BoolVar(&o.grpc, "grpc", false, "serve gRPC instead of HTTP over TCP")
	threads := flag.Int("threads", runtime.NumCPU(), "threads that run Go code at a time")
	flag.Bool("json", true, "print one line of JSON once listening, as always")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "server: unknown argument", flag.Arg(0))
		os.Exit(2)
	}
	runtime.GOMAXPROCS(*threads)
	return o
}

func run(o options) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	made, err := credentials.New(o.names, o.key, o.chain)
	if err != nil {
		return err
	}
	s := &server{options: o, chainBytes: made.ChainBytes()}
	if o.auth != "" {
		authenticator, name, line, err := newAuthenticator(o.auth)
		if err != nil {
			return err
		}
		s.auth = authenticator
		made.AddSecret(name, line)
	}
	if o.credentials != "" {
		if err := made.Write(o.credentials); err != nil {
			return err
		}
	}
	if s.answers, err = readAnswers(o.answers); err != nil {
		return err
	}
	s.log, err = openLog(o.log)
	if err != nil {
		return err
	}
	if o.qlog != "" {
		if err := os.MkdirAll(o.qlog, 0o755); err != nil {
			return err
		}
	}
	if o.keyLog != "" {
		// Whoever reads the secrets can read what was encrypted with them.
		made.KeyLog, err = os.OpenFile(o.keyLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
	}
	for _, address := range o.listen {
		if err := s.open(address, made.TLS(false)); err != nil {
			return err
		}
	}
	for _, address := range o.mtlsListen {
		if err := s.open(address, made.TLS(true)); err != nil {
			return err
		}
	}
	for _, address := range o.plaintextListen {
		if err := s.openPlaintext(address); err != nil {
			return err
		}
	}
	ready := struct {
		Listening []string          `json:"listening"`
		Libraries map[string]string `json:"libraries"`
	}{s.addresses, libraries()}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	<-stop
	s.drain()
	return s.log.close()
}

// libraries returns the library and its version that serves each protocol.
func libraries() map[string]string {
	version := func(path string) string { return strings.TrimPrefix(module.Version(path), "v") }
	std := "net/http " + strings.TrimPrefix(runtime.Version(), "go")
	return map[string]string{
		"h1":   std,
		"h2":   std,
		"h3":   "quic-go " + version("github.com/quic-go/quic-go"),
		"grpc": "grpc-go " + version("google.golang.org/grpc"),
	}
}

// network returns "tcp" or "udp" for one IP version, so that both versions can use a port.
func network(transport, address string) string {
	host, _, _ := net.SplitHostPort(address)
	if strings.Contains(host, ":") {
		return transport + "6"
	}
	return transport + "4"
}
