package main

import (
	"encoding/json"
	"testing"
)

func TestClientIsRestoredByEnvoysPort(t *testing.T) {
	connections := []proxied{
		{Peer: "10.0.0.1", Port: 1, UpstreamPort: 40000, startNs: 100},
		{Peer: "2001:db8::1", Port: 2, UpstreamPort: 40001, startNs: 150},
		// The port again, later.
		{Peer: "10.0.0.1", Port: 3, UpstreamPort: 40000, startNs: 200},
	}
	for _, c := range []struct {
		upstream, atNs string
		port           uint16
		ipVersion      int
	}{
		{"40000", "199", 1, 4},
		{"40000", "200", 3, 4},
		{"40001", "300", 2, 6},
	} {
		event := object{"peer_port": json.Number(c.upstream), "at_ns": json.Number(c.atNs), "congestion": "cubic"}
		if err := restoreClient(event, connections); err != nil {
			t.Fatal(err)
		}
		if event["peer_port"] != c.port || event["ip_version"] != c.ipVersion || event["congestion"] != nil {
			t.Errorf("from %s at %s: %v", c.upstream, c.atNs, event)
		}
	}
	unknown := object{"peer_port": json.Number("40000"), "at_ns": json.Number("99")}
	if err := restoreClient(unknown, connections); err == nil {
		t.Error("a connection that Envoy did not pass on has a client")
	}
}
