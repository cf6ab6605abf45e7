package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"commute/stacks/go/engine"
)

// maxLine is longer than any line of either log.
const maxLine = 1 << 20

// accessFormat is what Envoy logs of a request.
var accessFormat = object{
	"id":         "%REQ(X-COMMUTE-ID)%",
	"connection": "%CONNECTION_ID%",
	"peer":       "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
	"port":       "%DOWNSTREAM_REMOTE_PORT%",
	"protocol":   "%PROTOCOL%",
	"method":     "%REQ(:METHOD)%",
	"path":       "%REQ(:PATH)%",
	"start":      "%START_TIME(%s.%9f)%",
	"took_ns":    "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:ns)%",
	"tls":        "%DOWNSTREAM_TLS_VERSION%",
	"cipher":     "%DOWNSTREAM_TLS_CIPHER%",
	"group":      "%DOWNSTREAM_TLS_GROUP%",
	"subject":    "%DOWNSTREAM_PEER_SUBJECT%",
	"status":     "%RESPONSE_CODE%",
	"flags":      "%RESPONSE_FLAGS%",
	"received":   "%BYTES_RECEIVED%",
	"sent":       "%BYTES_SENT%",
}

// An access is a line of Envoy's log; null where Envoy does not know.
type access struct {
	ID         *string `json:"id"`
	Connection uint64  `json:"connection"`
	Peer       string  `json:"peer"`
	Port       uint16  `json:"port"`
	Protocol   *string `json:"protocol"`
	Method     *string `json:"method"`
	Path       *string `json:"path"`
	Start      string  `json:"start"`
	TookNs     *int64  `json:"took_ns"`
	TLS        *string `json:"tls"`
	Cipher     *string `json:"cipher"`
	Group      *string `json:"group"`
	Subject    *string `json:"subject"`
	Status     int     `json:"status"`
	Flags      *string `json:"flags"`
	Received   uint64  `json:"received"`
	Sent       uint64  `json:"sent"`

	startNs int64
}

// writeLog writes the log of docs/server.md: connections and times are Envoy's; the rest of a request,
// e.g. its digests, is the backend's, joined by the request's id.
func writeLog(path, folder string, chainBytes int) error {
	accesses, err := readAccesses(filepath.Join(folder, accessLog))
	if err != nil {
		return err
	}
	requests, err := readBackend(filepath.Join(folder, backendLog))
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	numbers := map[uint64]int{}
	for _, a := range accesses {
		number, known := numbers[a.Connection]
		if !known {
			number = len(numbers) + 1
			numbers[a.Connection] = number
			err = cmp.Or(err, encoder.Encode(connectionEvent(a, number, chainBytes)))
		}
		err = cmp.Or(err, encoder.Encode(requestEvent(a, number, requests)))
	}
	return cmp.Or(err, file.Close())
}

// readAccesses returns Envoy's log in the order in which requests began, on CLOCK_MONOTONIC.
func readAccesses(path string) ([]access, error) {
	offsetNs := monotonicOffsetNs()
	var accesses []access
	err := eachLine(path, func(line []byte) error {
		var a access
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		at, err := unixNs(a.Start)
		a.startNs = at + offsetNs
		accesses = append(accesses, a)
		return err
	})
	slices.SortStableFunc(accesses, func(a, b access) int { return cmp.Compare(a.startNs, b.startNs) })
	return accesses, err
}

// monotonicOffsetNs returns CLOCK_MONOTONIC less the time since 1970.
func monotonicOffsetNs() int64 {
	now := time.Now()
	return engine.Now() - now.UnixNano()
}

// unixNs reads a time as Envoy logs it, in seconds with nine decimals.
func unixNs(start string) (int64, error) {
	seconds, nanos, _ := strings.Cut(start, ".")
	return strconv.ParseInt(seconds+nanos, 10, 64)
}

// readBackend returns the requests in the log of commute serve by id, in the order in which they began.
func readBackend(path string) (map[string][]object, error) {
	requests := map[string][]object{}
	err := eachEvent(path, func(event object) error {
		if id, has := event["id"].(json.Number); has && event["event"] == "request" {
			requests[id.String()] = append(requests[id.String()], event)
		}
		return nil
	})
	for _, of := range requests {
		slices.SortStableFunc(of, func(a, b object) int {
			return cmp.Compare(integer(a["start_ns"]), integer(b["start_ns"]))
		})
	}
	return requests, err
}

// eachEvent reads the log of commute serve.
func eachEvent(path string, do func(event object) error) error {
	return eachLine(path, func(line []byte) error {
		var event object
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber() // a time does not fit into a float
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		return do(event)
	})
}

// integer returns the value of a field that is one, or 0.
func integer(field any) int64 {
	number, _ := field.(json.Number)
	n, _ := number.Int64()
	return n
}

func eachLine(path string, do func(line []byte) error) error {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil // Envoy's, without a request
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return lines.Err()
}

// connectionEvent describes the connection by its first request, since Envoy logs requests only.
func connectionEvent(a access, number, chainBytes int) object {
	transport, alpn := "tcp", protocolName(a.Protocol)
	if alpn == "h3" {
		transport = "quic"
	}
	cipher := cipherName(text(a.Cipher))
	if a.TLS == nil {
		alpn, cipher, chainBytes = "", "", 0
	}
	var client any
	if a.Subject != nil {
		client = strings.TrimPrefix(*a.Subject, "CN=")
	}
	return object{
		"event": "connection", "connection": number, "at_ns": a.startNs, "transport": transport,
		"peer_port": a.Port, "ip_version": ipVersion(a.Peer), "alpn": alpn,
		"tls_version": strings.Replace(text(a.TLS), "TLSv1.", "TLSv1_", 1),
		"cipher":      cipher, "group": groupName(text(a.Group)), "resumed": false,
		"hello_retry": false, "chain_bytes": chainBytes, "client_cert": client, "congestion": nil,
	}
}

// requestEvent completes what the backend logged. A request that did not reach it has no body.
func requestEvent(a access, number int, requests map[string][]object) object {
	event := object{
		"event": "request", "id": nil, "protocol": protocolName(a.Protocol),
		"method": text(a.Method), "path": text(a.Path), "early_data": false,
		"request_bytes": a.Received, "request_digest": emptyDigest,
		"response_bytes": a.Sent, "response_digest": emptyDigest, "status": a.Status,
	}
	if id, err := strconv.ParseUint(text(a.ID), 10, 32); err == nil {
		event["id"] = id
	}
	if waiting := requests[text(a.ID)]; a.ID != nil && len(waiting) > 0 {
		event = waiting[0]
		requests[*a.ID] = waiting[1:]
		if event["protocol"] != "grpc" {
			event["protocol"] = protocolName(a.Protocol)
		}
	}
	event["connection"] = number
	event["start_ns"] = a.startNs
	event["end_ns"] = a.startNs
	if a.TookNs != nil {
		event["end_ns"] = a.startNs + *a.TookNs
	}
	event["broken"] = event["broken"] == true || a.Flags != nil && *a.Flags != "-"
	return event
}

var emptyDigest = func() string {
	digest := sha256.Sum256(nil)
	return hex.EncodeToString(digest[:])
}()

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// protocolName returns the ALPN name of what Envoy calls e.g. HTTP/2.
func protocolName(protocol *string) string {
	switch text(protocol) {
	case "HTTP/3":
		return "h3"
	case "HTTP/2":
		return "h2"
	}
	return "http/1.1"
}

// groupName returns rustls's name of a group of the configuration.
func groupName(name string) string {
	switch name {
	case "P-256":
		return "secp256r1"
	case "P-384":
		return "secp384r1"
	}
	return name
}

// cipherName returns rustls's name for BoringSSL's, e.g. TLS13_AES_128_GCM_SHA256.
func cipherName(name string) string {
	if rest, found := strings.CutPrefix(name, "TLS_"); found {
		return "TLS13_" + rest
	}
	name = strings.NewReplacer("-", "_", "AES128", "WITH_AES_128", "AES256", "WITH_AES_256",
		"CHACHA20", "WITH_CHACHA20").Replace(name)
	if strings.HasSuffix(name, "POLY1305") {
		name += "_SHA256"
	}
	return "TLS_" + name
}
