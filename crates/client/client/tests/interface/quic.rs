//! QUIC endpoints for tests with servers of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::Ipv4Addr;
use std::sync::Arc;

/// Listens for connections over QUIC; returns the URL, too.
pub(crate) fn quic(config: rustls::ServerConfig) -> (quinn::Endpoint, String) {
    quic_with(config, quinn::TransportConfig::default())
}

/// Listens for connections over QUIC with these transport parameters; returns the URL, too.
pub(crate) fn quic_with(
    config: rustls::ServerConfig,
    transport: quinn::TransportConfig,
) -> (quinn::Endpoint, String) {
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(config).unwrap();
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let loopback = (Ipv4Addr::LOCALHOST, 0).into();
    let endpoint = quinn::Endpoint::server(config, loopback).unwrap();
    let port = endpoint.local_addr().unwrap().port();
    (endpoint, format!("https://localhost:{port}/"))
}
