package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"golang.org/x/sys/unix"
)

// A trace counts what quic-go tells in events only.
type trace struct {
	file                                 *qlogwriter.FileSeq // if it is written, too
	mutex                                sync.Mutex
	lost, spurious, timeouts, congestion uint64
	initialWindow, segment               *uint64
}

// newTrace returns the trace of a connection, which --qlog writes to a file as well.
func (s *server) newTrace(_ context.Context, _ bool, id quic.ConnectionID) qlogwriter.Trace {
	t := &trace{}
	if s.options.qlog == "" {
		return t
	}
	path := filepath.Join(s.options.qlog, id.String()+"_server.sqlog")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server: --qlog:", err)
		return t
	}
	s.unended.Add(1)
	t.file = qlogwriter.NewConnectionFileSeq(&qlogFile{bufio.NewWriter(file), file, &s.unended}, false, id)
	go t.file.Run()
	return t
}

// A qlogFile is a buffered file that the end of the server waits for.
type qlogFile struct {
	*bufio.Writer
	file *os.File
	open *sync.WaitGroup
}

// Close writes what is buffered.
func (f *qlogFile) Close() error {
	defer f.open.Done()
	return errors.Join(f.Flush(), f.file.Close())
}

// AddProducer returns a recorder that counts and, with --qlog, writes.
func (t *trace) AddProducer() qlogwriter.Recorder {
	if t.file == nil {
		return t // which has no state per producer
	}
	return &writingRecorder{t.file.AddProducer(), t}
}

type writingRecorder struct {
	qlogwriter.Recorder
	trace *trace
}

// RecordEvent counts and writes an event.
func (r *writingRecorder) RecordEvent(event qlogwriter.Event) {
	r.trace.RecordEvent(event)
	r.Recorder.RecordEvent(event)
}

// RecordEvent counts an event.
func (t *trace) RecordEvent(event qlogwriter.Event) {
	switch event.(type) {
	case qlog.PacketSent, qlog.PacketReceived, qlog.MetricsUpdated:
		return // nearly all events
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch event := event.(type) {
	case qlog.PacketLost:
		if !event.IsMTUProbePacket {
			t.lost++
		}
	case qlog.SpuriousLoss:
		t.spurious++
	case qlog.PTOCountUpdated:
		if event.PTOCount > 0 {
			t.timeouts++
		}
	case qlog.CongestionStateUpdated:
		if event.State == qlog.CongestionStateRecovery {
			t.congestion++
		}
	case qlog.RecoveryParametersSet:
		t.initialWindow = ptr(uint64(event.InitialCongestionWindow))
	case qlog.MTUUpdated:
		t.segment = ptr(uint64(event.Value))
	}
}

// Close does nothing: the counts are read when the connection has ended.
func (t *trace) Close() error { return nil }

// quicSender returns what quic-go reports of its sending.
func quicSender(conn *quic.Conn) sender {
	t := conn.QlogTrace().(*trace)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	stats := conn.ConnectionStats()
	return sender{
		SentPackets:        &stats.PacketsSent,
		LostPackets:        ptr(t.lost), // that of the statistics is without the spurious ones
		SpuriousPackets:    ptr(t.spurious),
		Timeouts:           ptr(t.timeouts),
		CongestionEvents:   ptr(t.congestion),
		SmoothedRTTNs:      told(uint64(stats.SmoothedRTT)),
		MinRTTNs:           told(uint64(stats.MinRTT)),
		WindowBytes:        told(stats.CongestionWindow),
		InitialWindowBytes: t.initialWindow,
		SegmentBytes:       t.segment,
	}
}

// tcpSender returns what the kernel reports of a connection's sending.
func tcpSender(conn net.Conn) sender {
	socket, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return sender{}
	}
	var info unix.TCPInfo
	size := uint32(unsafe.Sizeof(info))
	var errno unix.Errno
	err = socket.Control(func(fd uintptr) {
		// unix.GetsockoptTCPInfo does not report how much of it this kernel has.
		_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	})
	if err != nil || errno != 0 {
		return sender{}
	}
	window := ptr(uint64(info.Snd_cwnd) * uint64(info.Snd_mss))
	found := sender{
		SentPackets:     ptr(uint64(info.Segs_out)),
		LostPackets:     ptr(uint64(info.Total_retrans)),
		LostBytes:       &info.Bytes_retrans,
		SpuriousPackets: ptr(uint64(info.Dsack_dups)),
		Reorderings:     ptr(uint64(info.Reord_seen)),
		SmoothedRTTNs:   told(uint64(info.Rtt) * uint64(time.Microsecond)),
		WindowBytes:     window,
		SegmentBytes:    ptr(uint64(info.Snd_mss)),
		DeliveryBps:     told(info.Delivery_rate * 8),
	}
	if info.Min_rtt != ^uint32(0) {
		found.MinRTTNs = told(uint64(info.Min_rtt) * uint64(time.Microsecond))
	}
	if info.Pacing_rate != ^uint64(0) {
		found.PacingBps = told(info.Pacing_rate * 8)
	}
	if uintptr(size) >= unsafe.Offsetof(info.Total_rto)+unsafe.Sizeof(info.Total_rto) {
		found.Timeouts = ptr(uint64(info.Total_rto)) // Linux 6.7
	}
	return found
}

func ptr(value uint64) *uint64 { return &value }

// told returns nil for 0, which means that there is no sample yet.
func told(value uint64) *uint64 {
	if value == 0 {
		return nil
	}
	return &value
}
