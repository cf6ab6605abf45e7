use capture::Capture;

/// Reads a capture and explains it, alone and beside itself. Its parts must sum to the time of each exchange.
pub fn capture(data: &[u8]) {
    let Ok(capture) = Capture::read("capture", data) else {
        return;
    };
    let captures = [capture.clone(), capture];
    for captures in [&captures[..1], &captures] {
        let Ok(explained) = ::capture::explain(captures, Some(1)) else {
            continue;
        };
        let exchanges = explained.connections.iter().flat_map(|of| &of.exchanges);
        for exchange in exchanges {
            let sum: u64 = exchange.parts.iter().map(|time| time.ns).sum();
            assert_eq!(sum, exchange.duration_ns);
        }
    }
}
