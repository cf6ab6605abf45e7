package main

import (
	"bufio"
	"encoding/json"
	"os"
)

// logQueue is how many events may wait for the disk before requests do.
const logQueue = 4096

// A connectionEvent is one line of the log, as crates/shared/server-log/src/lib.rs defines it.
type connectionEvent struct {
	Event      string  `json:"event"`
	Connection uint64  `json:"connection"`
	AtNs       int64   `json:"at_ns"`
	Transport  string  `json:"transport"`
	PeerPort   uint16  `json:"peer_port"`
	IPVersion  int     `json:"ip_version"`
	ALPN       string  `json:"alpn"`
	TLSVersion string  `json:"tls_version"`
	Cipher     string  `json:"cipher"`
	Group      string  `json:"group"`
	Resumed    bool    `json:"resumed"`
	HelloRetry bool    `json:"hello_retry"`
	ChainBytes int     `json:"chain_bytes"`
	ClientCert *string `json:"client_cert"`
	Congestion *string `json:"congestion"`
}

// A requestEvent is one line of the log, as crates/shared/server-log/src/lib.rs defines it.
type requestEvent struct {
	Event          string  `json:"event"`
	ID             *uint32 `json:"id"`
	Connection     uint64  `json:"connection"`
	Protocol       string  `json:"protocol"`
	Method         string  `json:"method"`
	Path           string  `json:"path"`
	Authority      string  `json:"authority,omitempty"`
	StartNs        int64   `json:"start_ns"`
	ReceivedNs     *int64  `json:"received_ns,omitempty"`
	RespondedNs    *int64  `json:"responded_ns,omitempty"`
	EndNs          int64   `json:"end_ns"`
	EarlyData      bool    `json:"early_data"`
	RequestBytes   uint64  `json:"request_bytes"`
	RequestDigest  string  `json:"request_digest"`
	ResponseBytes  uint64  `json:"response_bytes"`
	ResponseDigest string  `json:"response_digest"`
	Status         int     `json:"status"`
	Broken         bool    `json:"broken"`
	exchangeEvent
	fieldsEvent
	authEvent
}

// An exchangeEvent is what the log has about an exchange or a submission that was answered.
type exchangeEvent struct {
	Codec    *string `json:"codec,omitempty"`
	DecodeNs *int64  `json:"decode_ns,omitempty"`
	EncodeNs *int64  `json:"encode_ns,omitempty"`
}

// A fieldsEvent is what the log has about a request of a study's own.
type fieldsEvent struct {
	FieldsDigest *string `json:"fields_digest,omitempty"`
}

// A closedEvent is one line of the log, as crates/shared/server-log/src/lib.rs defines it.
type closedEvent struct {
	Event      string `json:"event"`
	Connection uint64 `json:"connection"`
	AtNs       int64  `json:"at_ns"`
	Sender     sender `json:"sender"`
}

// A sender is what a transport reports of its sending, as crates/shared/server-log/src/sender.rs defines it.
type sender struct {
	SentPackets        *uint64 `json:"sent_packets,omitempty"`
	LostPackets        *uint64 `json:"lost_packets,omitempty"`
	LostBytes          *uint64 `json:"lost_bytes,omitempty"`
	SpuriousPackets    *uint64 `json:"spurious_packets,omitempty"`
	Reorderings        *uint64 `json:"reorderings,omitempty"`
	Timeouts           *uint64 `json:"timeouts,omitempty"`
	CongestionEvents   *uint64 `json:"congestion_events,omitempty"`
	SmoothedRTTNs      *uint64 `json:"smoothed_rtt_ns,omitempty"`
	MinRTTNs           *uint64 `json:"min_rtt_ns,omitempty"`
	WindowBytes        *uint64 `json:"window_bytes,omitempty"`
	InitialWindowBytes *uint64 `json:"initial_window_bytes,omitempty"`
	SegmentBytes       *uint64 `json:"segment_bytes,omitempty"`
	PacingBps          *uint64 `json:"pacing_bps,omitempty"`
	DeliveryBps        *uint64 `json:"delivery_bps,omitempty"`
}

// A logWriter writes events from a goroutine of its own, so that no request waits for the disk.
type logWriter struct {
	events chan any
	closed chan error
}

func openLog(path string) (*logWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	l := &logWriter{make(chan any, logQueue), make(chan error)}
	go func() { l.closed <- l.run(file) }()
	return l, nil
}

func (l *logWriter) write(event any) { l.events <- event }

// close writes what is waiting. No event may be written after it.
func (l *logWriter) close() error {
	close(l.events)
	return <-l.closed
}

func (l *logWriter) run(file *os.File) error {
	buffer := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	var failed error
	for event := range l.events {
		err := encoder.Encode(event)
		if len(l.events) == 0 && err == nil {
			err = buffer.Flush()
		}
		if failed == nil {
			failed = err
		}
	}
	if err := buffer.Flush(); failed == nil {
		failed = err
	}
	if err := file.Close(); failed == nil {
		failed = err
	}
	return failed
}
