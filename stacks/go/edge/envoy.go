package main

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strconv"
)

// Files in the private folder, and the name in the backend's certificate.
const (
	accessLog          = "access.ndjson"
	backendCredentials = "backend"
	backendLog         = "backend.ndjson"
	backendName        = "localhost"
)

// Envoy's defaults that no client of a study meets, besides those below: 16 MiB of window per stream.
const maxStreams = 100

// quicSessionTickets makes the listener's settings for resumption apply to QUIC, too.
const quicSessionTickets = "envoy.reloadable_features.quic_session_ticket_support"

// object is a JSON object.
type object = map[string]any

// A port is one that Envoy listens on: an address, and what clients must do there.
type port struct {
	address    string
	tls, mtls  bool
	host       string
	number     int
	backendsAt int
}

// ports returns all that Envoy listens on. backendsAt is the position of the address that layer 4
// passes connections on to, among those that commute serve announces.
func (o options) ports() ([]port, error) {
	var ports []port
	for _, of := range []struct {
		addresses []string
		port      port
	}{
		// First, so that they listen when those with TLS do.
		{o.plaintextListen, port{backendsAt: 2}},
		{o.listen, port{tls: true, backendsAt: 0}},
		{o.mtlsListen, port{tls: true, mtls: true, backendsAt: 1}},
	} {
		for _, address := range of.addresses {
			host, number, err := splitAddress(address)
			if err != nil {
				return nil, err
			}
			p := of.port
			p.address, p.host, p.number = address, host, number
			ports = append(ports, p)
		}
	}
	return ports, nil
}

// envoyConfig returns Envoy's configuration, given where commute serve listens.
func envoyConfig(o options, folder string, backends []string) ([]byte, error) {
	ports, err := o.ports()
	if err != nil {
		return nil, err
	}
	resources := requestProxy
	if o.layer == 4 {
		resources = connectionProxy
	}
	listeners, clusters, err := resources(o, folder, ports, backends)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"static_resources": object{"listeners": listeners, "clusters": clusters},
		"layered_runtime": object{"layers": []any{object{
			"name": "static", "static_layer": object{quicSessionTickets: true},
		}}},
	})
}

// requestProxy returns Envoy's listeners and clusters at layer 7: every port with TCP and, if it has TLS,
// QUIC; one backend. Sessions are not resumed, since Envoy's log cannot tell whether one was.
func requestProxy(o options, folder string, ports []port, backends []string) (listeners, clusters []any, err error) {
	var tcp []any
	for _, p := range ports {
		if p.tls {
			listeners = append(listeners, quicListener(o, folder, p))
		}
		tcp = append(tcp, tcpListener(o, folder, p))
	}
	host, number, err := splitAddress(backends[0])
	return append(listeners, tcp...), []any{cluster(folder, host, number)}, err
}

func splitAddress(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.Atoi(text)
	return host, port, err
}

func tcpListener(o options, folder string, p port) object {
	chain := object{"filters": http(o, folder, "AUTO", p.number)}
	if p.tls {
		chain["transport_socket"] = typed("envoy.transport_sockets.tls",
			"extensions.transport_sockets.tls.v3.DownstreamTlsContext",
			tlsContext(folder, o, p.mtls, "h2", "http/1.1"))
	}
	return object{
		"name":          "tcp " + p.address,
		"address":       socketAddress("TCP", p.host, p.number),
		"filter_chains": []any{chain},
	}
}

func quicListener(o options, folder string, p port) object {
	context := object{
		"downstream_tls_context": tlsContext(folder, o, p.mtls),
		"enable_early_data":      false,
	}
	return object{
		"name":                "quic " + p.address,
		"address":             socketAddress("UDP", p.host, p.number),
		"udp_listener_config": object{"quic_options": object{}},
		"filter_chains": []any{object{
			"filters": http(o, folder, "HTTP3", p.number),
			"transport_socket": typed("envoy.transport_sockets.quic",
				"extensions.transport_sockets.quic.v3.QuicDownstreamTransport", context),
		}},
	}
}

func tlsContext(folder string, o options, mtls bool, alpn ...string) object {
	common := object{
		"tls_certificates": []any{object{
			"certificate_chain": object{"filename": filepath.Join(folder, "chain.pem")},
			"private_key":       object{"filename": filepath.Join(folder, "server.key")},
		}},
		// Those of commute serve, so that handshakes have the same size.
		"tls_params": object{"ecdh_curves": []string{"X25519", "P-256", "P-384"}},
	}
	if len(alpn) > 0 {
		common["alpn_protocols"] = alpn
	}
	if o.keyLog != "" {
		common["key_log"] = object{"path": o.keyLog}
	}
	if mtls {
		ca := filepath.Join(o.credentials, "ca.pem")
		common["validation_context"] = object{"trusted_ca": object{"filename": ca}}
	}
	return object{
		"common_tls_context":                   common,
		"require_client_certificate":           mtls,
		"disable_stateless_session_resumption": true,
		"disable_stateful_session_resumption":  true,
	}
}

// http returns the filter that serves HTTP to clients.
func http(o options, folder, codec string, port int) []any {
	var headers []any
	if o.altSvc && codec != "HTTP3" {
		headers = []any{object{"header": object{
			"key": "alt-svc", "value": `h3=":` + strconv.Itoa(port) + `"; ma=86400`,
		}}}
	}
	manager := object{
		"codec_type":  codec,
		"stat_prefix": "edge",
		"access_log":  []any{logger(folder, accessFormat)},
		// As it came: neither a Date of its own nor a Server.
		"server_header_transformation": "PASS_THROUGH",
		"generate_request_id":          false,
		"http2_protocol_options":       object{"max_concurrent_streams": maxStreams},
		"route_config": object{
			"response_headers_to_add": headers,
			"virtual_hosts": []any{object{
				"name": "all", "domains": []string{"*"},
				"routes": []any{object{
					"match": object{"prefix": "/"},
					"route": object{"cluster": "backend", "timeout": "0s"},
				}},
			}},
		},
		"http_filters": []any{typed("envoy.filters.http.router",
			"extensions.filters.http.router.v3.Router", object{})},
	}
	if codec == "HTTP3" {
		manager["http3_protocol_options"] = object{}
	}
	return []any{typed("envoy.filters.network.http_connection_manager",
		"extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", manager)}
}

// cluster is commute's own server, over HTTP/2.
func cluster(folder, host string, port int) object {
	protocol := object{"explicit_http_config": object{"http2_protocol_options": object{}}}
	ca := filepath.Join(folder, backendCredentials, "ca.pem")
	return object{
		"name": "backend", "type": "STATIC", "connect_timeout": "5s",
		"typed_extension_protocol_options": object{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": withType(
				"extensions.upstreams.http.v3.HttpProtocolOptions", protocol),
		},
		"load_assignment": endpoint("backend", host, port),
		"transport_socket": typed("envoy.transport_sockets.tls",
			"extensions.transport_sockets.tls.v3.UpstreamTlsContext", object{
				"sni": backendName,
				"common_tls_context": object{
					"alpn_protocols":     []string{"h2"},
					"validation_context": object{"trusted_ca": object{"filename": ca}},
				},
			}),
	}
}

// endpoint assigns its one address to a cluster.
func endpoint(cluster, host string, port int) object {
	return object{
		"cluster_name": cluster,
		"endpoints": []any{object{"lb_endpoints": []any{object{
			"endpoint": object{"address": socketAddress("TCP", host, port)},
		}}}},
	}
}

// logger writes Envoy's log, a line of JSON in this format for each event.
func logger(folder string, format object) object {
	return typed("envoy.access_loggers.file", "extensions.access_loggers.file.v3.FileAccessLog", object{
		"path":       filepath.Join(folder, accessLog),
		"log_format": object{"json_format": format},
	})
}

func socketAddress(protocol, host string, port int) object {
	return object{"socket_address": object{"protocol": protocol, "address": host, "port_value": port}}
}

// typed is an extension of Envoy's and its configuration.
func typed(name, kind string, config object) object {
	return object{"name": name, "typed_config": withType(kind, config)}
}

func withType(kind string, config object) object {
	config["@type"] = "type.googleapis.com/envoy." + kind
	return config
}
