//! What an exporter gets of requests to a server.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::Ipv4Addr;
use std::time::Duration;

use client::{Engine, Metrics, Policy, Trust};
use client_otel::Recorder;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ScopeMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use server::{Config, Server};

struct Exported {
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
}

impl Exported {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        Self { provider, exporter }
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(&self.provider.meter("commute"))
    }

    /// Returns a line for each series of an instrument: attributes in the order of their names, then the count.
    fn lines(&self, instrument: &str) -> Vec<String> {
        self.provider.force_flush().unwrap();
        let exported = self.exporter.get_finished_metrics().unwrap();
        let scopes = exported.last().unwrap().scope_metrics();
        let metrics = scopes.flat_map(ScopeMetrics::metrics);
        let mut lines = Vec::new();
        for metric in metrics.filter(|metric| metric.name() == instrument) {
            match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    assert_eq!(metric.unit(), "s");
                    for point in histogram.data_points() {
                        assert_eq!(point.bounds().count(), 14);
                        assert!(point.sum() > 0.0 && point.sum() < 60.0);
                        lines.push(line(point.attributes(), point.count()));
                    }
                }
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    for point in sum.data_points() {
                        lines.push(line(point.attributes(), point.value()));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        lines.sort();
        lines
    }
}

fn line<'a>(attributes: impl Iterator<Item = &'a opentelemetry::KeyValue>, count: u64) -> String {
    let mut parts: Vec<_> = attributes
        .map(|attribute| format!("{}={}", attribute.key, attribute.value))
        .collect();
    parts.sort();
    parts.push(count.to_string());
    parts.join(" ")
}

/// Returns the metrics, once they have this many requests.
async fn measured(engine: &Engine, count: usize) -> Metrics {
    loop {
        let metrics = engine.metrics();
        if metrics.requests.len() >= count {
            return metrics;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_have_the_names_of_the_conventions_and_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        credentials_dir: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let server = Server::bind(config).await.unwrap();
    let port = server.addresses()[0].port();
    tokio::spawn(server.run(std::future::pending()));
    let ca = std::fs::read(folder.path().join("ca.pem")).unwrap();
    let engine = Engine::builder()
        .trust(Trust::Roots(ca))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()])
        .build()
        .unwrap();
    let url = |path: &str| format!("https://localhost:{port}{path}");
    let exported = Exported::new();
    let mut recorder = exported.recorder();

    for (policy, path) in [
        (Policy::H3, "/health"),
        (Policy::H2, "/health"),
        (Policy::H2, "/health"),
        (Policy::H1, "/nowhere"),
    ] {
        let response = engine.get(&url(path)).policy(policy).send().await.unwrap();
        response.bytes(1 << 20).await.unwrap();
    }
    let method = http::Method::from_bytes(b"PURGE").unwrap();
    let slow = engine.request(method, "https://localhost:1/");
    slow.send().await.unwrap_err();
    recorder.record(&measured(&engine, 5).await);
    // They do not count again.
    recorder.record(&engine.metrics());

    let here = format!("server.address=localhost server.port={port}");
    let get = "http.request.method=GET http.response.status_code";
    assert_eq!(
        exported.lines("http.client.request.duration"),
        [
            format!("error.type=404 {get}=404 network.protocol.version=1.1 {here} 1"),
            "error.type=connect http.request.method=_OTHER server.address=localhost server.port=1 1"
                .to_owned(),
            format!("{get}=200 network.protocol.version=2 {here} 2"),
            format!("{get}=200 network.protocol.version=3 {here} 1"),
        ]
    );
    let routes = exported.lines("commute.client.routes");
    assert!(
        routes
            .iter()
            .all(|line| line.starts_with("commute.reason=")),
        "{routes:?}"
    );
    assert_eq!(exported.lines("commute.client.missed"), [""; 0]);
}

#[test]
fn requests_that_were_gone_are_counted_as_missed() {
    let exported = Exported::new();
    let mut recorder = exported.recorder();
    let dropped = |dropped| Metrics {
        dropped,
        ..Metrics::default()
    };
    recorder.record(&dropped(7));
    recorder.record(&dropped(7));
    recorder.record(&dropped(9));
    assert_eq!(exported.lines("commute.client.missed"), ["9"]);
}
