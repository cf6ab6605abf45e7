//! An endless line is not buffered. Alone in its file, because it reads the process's peak
//! memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use driver::{ChannelError, DriverError, Host, Limits};

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn line_of_a_gigabyte_is_not_buffered() {
    let (read, output) = std::io::pipe().unwrap();
    let (_input, write) = std::io::pipe().unwrap();
    let mut host = Host::new(read.into(), write.into(), Limits::default()).unwrap();
    let chunk = vec![b'x'; 1 << 20];
    let before_kib = peak_kib();
    let driver = std::thread::spawn(move || {
        let mut output = File::from(std::os::fd::OwnedFd::from(output));
        (0..1 << 10)
            .take_while(|_| output.write_all(&chunk).is_ok())
            .count()
    });
    let error = host
        .hello(Instant::now() + Duration::from_secs(20))
        .unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::LineTooLong { limit: 65_536 })
        ),
        "{error}"
    );
    drop(host);
    assert!(driver.join().unwrap() < 2, "the rest must not be read");
    let grown_kib = peak_kib().saturating_sub(before_kib);
    // Twice the megabyte chunk that this test itself writes; the line limit is 64 KiB.
    assert!(grown_kib < 2_048, "{grown_kib} KiB");
}
