package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go/http3"
)

const (
	limit    = 2 * time.Minute
	download = 10_000_000
	upload   = 5_000_000
	parallel = 300
)

// runClient asks `commute serve` over HTTP/1.1, HTTP/2 and HTTP/3.
func runClient(url, ca string) error {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("no certificate in " + ca)
	}
	config := func() *tls.Config { return &tls.Config{RootCAs: roots} }
	over3 := &http3.Transport{TLSClientConfig: config()}
	defer over3.Close()
	for _, version := range []struct {
		proto     string
		transport http.RoundTripper
	}{
		{"HTTP/1.1", &http.Transport{TLSClientConfig: config()}},
		{"HTTP/2.0", &http.Transport{TLSClientConfig: config(), ForceAttemptHTTP2: true}},
		{"HTTP/3.0", over3},
	} {
		client := &http.Client{Transport: version.transport, Timeout: limit}
		if err := ask(client, url, version.proto); err != nil {
			return fmt.Errorf("%s: %w", version.proto, err)
		}
	}
	fmt.Println("10 MB down, 5 MB up, 300 parallel over HTTP/1.1, HTTP/2 and HTTP/3")
	return nil
}

func ask(client *http.Client, url, proto string) error {
	get := func(bytes int64) error {
		response, err := client.Get(fmt.Sprintf("%s/bytes/%d", url, bytes))
		return check(response, err, proto, bytes)
	}
	if err := get(download); err != nil {
		return fmt.Errorf("GET: %w", err)
	}
	request, err := http.NewRequest(http.MethodPut, url+"/upload", bytes.NewReader(make([]byte, upload)))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err := check(response, err, proto, -1); err != nil {
		return fmt.Errorf("PUT: %w", err)
	}
	failed := make(chan error, parallel)
	for range parallel {
		go func() { failed <- get(1000) }()
	}
	for range parallel {
		if err := <-failed; err != nil {
			return fmt.Errorf("parallel GET: %w", err)
		}
	}
	return nil
}

// check fails unless the response has status 200, this version and so many bytes; -1 is any number.
func check(response *http.Response, err error, proto string, bytes int64) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	length, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != 200 || response.Proto != proto || bytes >= 0 && length != bytes {
		return fmt.Errorf("%s with status %d and %d bytes", response.Proto, response.StatusCode, length)
	}
	return nil
}
