use std::str;

use driver::codec_runner;
use driver::protocol::{Reply, Request};

/// Parses lines of the driver protocol and of the codec runners' protocol, in both directions.
pub fn driver_lines(data: &[u8]) {
    codec_runner::Request::parse(data).ok();
    serde_json::from_slice::<codec_runner::Reply>(data).ok();
    serde_json::from_slice::<Reply>(data).ok();
    if let Ok(line) = str::from_utf8(data) {
        Request::parse(line).ok();
        driver::printable(line);
    }
}
