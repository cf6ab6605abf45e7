//! `commute why --pcap FILE [FILE]`: where the time in captures made elsewhere went.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use capture::Capture;
use report::captured;

use super::Format;
use crate::verb::report::width;
use crate::{exit, out};

/// A capture is read into memory.
const MAX_BYTES: u64 = 2 << 30;

/// Prints what captures show, or the path of the exchange with the number `request`.
pub(super) fn run(files: &[PathBuf], format: Format, request: Option<usize>) -> anyhow::Result<u8> {
    let captures = files.iter().map(|file| read(file));
    let captures = captures.collect::<anyhow::Result<Vec<Capture>>>()?;
    let explained = capture::explain(&captures, request)?;
    let exchanges: usize = explained
        .connections
        .iter()
        .map(|of| of.exchanges.len())
        .sum();
    let text = match (request, format) {
        (Some(number), _) if !(1..=exchanges).contains(&number) => {
            let has = report::count(exchanges, "exchange");
            return Err(exit::usage(format!(
                "there is no exchange {number}: the captures have {has}"
            )));
        }
        // The document has the path.
        (_, Format::Json) => Some(captured::json(&explained)),
        (None, Format::Human) => Some(captured::human(&explained, width())),
        (None, Format::Markdown) => Some(captured::markdown(&explained)),
        (None, Format::Csv) => Some(captured::csv(&explained)),
        (Some(_), Format::Human) => captured::path(&explained),
        (Some(_), Format::Markdown) => captured::path_markdown(&explained),
        (Some(_), Format::Csv) => captured::path_csv(&explained),
    };
    let text = text.expect("the path of an exchange that exists is kept");
    out::print(&text)?;
    Ok(exit::PASS)
}

fn read(file: &Path) -> anyhow::Result<Capture> {
    let name = file.display().to_string();
    let failed = |e| exit::file_error(format!("cannot read {name}"), e);
    let mut bytes = Vec::new();
    let open = std::fs::File::open(file).map_err(failed)?;
    open.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    anyhow::ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "{name}: more than {} MiB: keep the headers, e.g. `editcap -s 128 {name} SMALLER`",
        MAX_BYTES >> 20
    );
    Ok(Capture::read(&name, &bytes)?)
}
