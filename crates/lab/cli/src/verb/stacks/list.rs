//! `commute stacks`: lists every stack with what its driver reports.

use lab::{Driver, DriverHello, HelloReader, Lab};
use neutral::plain;
use serde::Serialize;

use crate::out::Listing;
use crate::{exit, out, progress};

pub(super) fn run(lab: &Lab, format: Listing) -> anyhow::Result<u8> {
    let drivers: Vec<&Driver> = lab.stacks.all().collect();
    let mut hellos = HelloReader::start(lab)?;
    let status = progress::status();
    let rows: Vec<Row> = drivers
        .iter()
        .map(|driver| {
            progress::show(&status, &format!("starting {} ...", driver.entry.name));
            Row::new(driver, hellos.query(driver))
        })
        .collect();
    status.finish_and_clear();
    match format {
        Listing::Json => out::json(&rows)?,
        Listing::Human => out::text(&(table(&rows) + &runners(lab)))?,
    }
    Ok(exit::PASS)
}

/// What is printed of one driver.
#[derive(Serialize)]
struct Row {
    name: String,
    protocols: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<String>,
    capabilities: Vec<&'static str>,
    /// Time from starting the driver to receiving its `hello`.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    caveats: Vec<String>,
}

impl Row {
    fn new(driver: &Driver, queried: Result<DriverHello, String>) -> Row {
        let caveats = driver.entry.caveats.iter();
        let mut row = Row {
            name: driver.entry.name.clone(),
            protocols: driver.entry.protocols.iter().map(|p| p.name()).collect(),
            stack: None,
            tls: None,
            capabilities: Vec::new(),
            startup_ms: None,
            missing: None,
            caveats: caveats.map(|(of, text)| format!("{of}: {text}")).collect(),
        };
        match queried {
            Err(reason) => row.missing = Some(reason),
            Ok(DriverHello { hello, startup }) => {
                row.capabilities = hello.capabilities.iter().map(|c| c.name()).collect();
                row.stack = Some(format!("{} {}", hello.stack, hello.stack_version));
                row.tls = Some(hello.tls);
                row.startup_ms = Some(startup.as_millis() as u64);
            }
        }
        row
    }
}

/// Returns a line per codec runner: the runtimes that `commute codec` can measure.
fn runners(lab: &Lab) -> String {
    let line = |runner: &lab::Runner| match runner.missing() {
        None => format!("codecs in {}: usable\n", runner.runtime),
        Some(why) => format!(
            "codecs in {}: not usable: {}\n",
            runner.runtime,
            plain(&why)
        ),
    };
    lab.stacks.runners().map(line).collect()
}

/// Returns the rows as lines; no text of a stack adds a line.
fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let name = plain(&row.name);
        let protocols = row.protocols.join(" ");
        match (&row.stack, &row.missing) {
            (Some(stack), _) => {
                let stack = plain(stack);
                let tls = plain(row.tls.as_deref().unwrap_or_default());
                let ms = row.startup_ms.unwrap_or(0);
                text += &format!("{name:width$}  {protocols:9}  {stack}\n");
                text += &format!("{:width$}  {:9}  TLS: {tls}; starts in {ms} ms\n", "", "");
                let able = row.capabilities.join(" ");
                text += &format!("{:width$}  {:9}  can: {able}\n", "", "");
            }
            (None, missing) => {
                let why = plain(missing.as_deref().unwrap_or_default());
                text += &format!("{name:width$}  {protocols:9}  not usable: {why}\n");
            }
        }
        for caveat in row.caveats.iter().map(|caveat| plain(caveat)) {
            text += &format!("{:width$}  {:9}  note: {caveat}\n", "", "");
        }
    }
    text
}
