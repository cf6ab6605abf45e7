package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// upstreamConnected is the type of the lines that are read of Envoy's log at layer 4.
const upstreamConnected = "TcpUpstreamConnected"

// proxiedFormat is what Envoy logs of a connection that it passes on.
var proxiedFormat = object{
	"type":          "%ACCESS_LOG_TYPE%",
	"peer":          "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
	"port":          "%DOWNSTREAM_REMOTE_PORT%",
	"upstream_port": "%UPSTREAM_LOCAL_PORT%",
	"start":         "%START_TIME(%s.%9f)%",
}

// A proxied connection is a line of Envoy's log at layer 4.
type proxied struct {
	Type         string `json:"type"`
	Peer         string `json:"peer"`
	Port         uint16 `json:"port"`
	UpstreamPort uint16 `json:"upstream_port"`
	Start        string `json:"start"`

	startNs int64
}

// connectionProxy returns Envoy's listeners and clusters at layer 4: every port passes connections on to
// a port of the backend that does the same.
func connectionProxy(_ options, folder string, ports []port, backends []string) (listeners, clusters []any, err error) {
	for _, p := range ports {
		listeners = append(listeners, object{
			"name":    "tcp " + p.address,
			"address": socketAddress("TCP", p.host, p.number),
			"filter_chains": []any{object{"filters": []any{typed("envoy.filters.network.tcp_proxy",
				"extensions.filters.network.tcp_proxy.v3.TcpProxy", object{
					"stat_prefix": "edge",
					"cluster":     backends[p.backendsAt],
					"access_log":  []any{logger(folder, proxiedFormat)},
					// At once, so that no line depends on how a connection ends.
					"access_log_options": object{"flush_access_log_on_connected": true},
				})}}},
		})
	}
	for _, backend := range backends {
		host, number, err := splitAddress(backend)
		if err != nil {
			return nil, nil, err
		}
		clusters = append(clusters, object{
			"name": backend, "type": "STATIC", "connect_timeout": "5s",
			"load_assignment": endpoint(backend, host, number),
		})
	}
	return listeners, clusters, nil
}

// writeProxiedLog writes the backend's log with the client in the place of Envoy. What the backend's
// sockets tell is of loopback: it is left out.
func writeProxiedLog(path, folder string) error {
	connections, err := readProxied(filepath.Join(folder, accessLog))
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	err = eachEvent(filepath.Join(folder, backendLog), func(event object) error {
		switch event["event"] {
		case "closed":
			return nil
		case "connection":
			if err := restoreClient(event, connections); err != nil {
				return err
			}
		}
		return encoder.Encode(event)
	})
	return cmp.Or(err, file.Close())
}

// restoreClient replaces what a connection's event says of Envoy by what is true of the client. A port of
// Envoy's may have been used before: the last connection that began in time is the event's.
func restoreClient(event object, connections []proxied) error {
	port, atNs := integer(event["peer_port"]), integer(event["at_ns"])
	for _, c := range slices.Backward(connections) {
		if int64(c.UpstreamPort) == port && c.startNs <= atNs {
			event["peer_port"] = c.Port
			event["ip_version"] = ipVersion(c.Peer)
			event["congestion"] = nil
			return nil
		}
	}
	return fmt.Errorf("Envoy logged no connection from port %d", port)
}

// readProxied returns the connections that Envoy passed on, in the order in which they began, on
// CLOCK_MONOTONIC.
func readProxied(path string) ([]proxied, error) {
	offsetNs := monotonicOffsetNs()
	var connections []proxied
	err := eachLine(path, func(line []byte) error {
		var c proxied
		if err := json.Unmarshal(line, &c); err != nil || c.Type != upstreamConnected {
			return err
		}
		startNs, err := unixNs(c.Start)
		c.startNs = startNs + offsetNs
		connections = append(connections, c)
		return err
	})
	slices.SortStableFunc(connections, func(a, b proxied) int { return cmp.Compare(a.startNs, b.startNs) })
	return connections, err
}

func ipVersion(address string) int {
	if strings.Contains(address, ":") {
		return 6
	}
	return 4
}
