//! JMeter's sample results (JTL), as CSV or as XML. Their times are in whole ms.

use driver::protocol::ErrorKind;

use super::xml::{self, Tag};
use super::{Failure, Mistake, Read, Request, SEPARATORS, group, table, time};

/// What JMeter writes for a transaction, which sums the samples in it.
const TRANSACTION: &str = "Number of samples in transaction";
const NO_RESPONSE: &str = "Non HTTP response code: ";
const NO_MESSAGE: &str = "Non HTTP response message: ";
const NS_PER_MS: f64 = 1e6;

/// The names of what is read of a sample, in CSV and in XML.
#[derive(Clone, Copy)]
struct Names {
    elapsed: &'static str,
    latency: &'static str,
    connect: &'static str,
    label: &'static str,
    code: &'static str,
    message: &'static str,
    success: &'static str,
}

const CSV: Names = Names {
    elapsed: "elapsed",
    latency: "Latency",
    connect: "Connect",
    label: "label",
    code: "responseCode",
    message: "responseMessage",
    success: "success",
};
const XML: Names = Names {
    elapsed: "t",
    latency: "lt",
    connect: "ct",
    label: "lb",
    code: "rc",
    message: "rm",
    success: "s",
};

pub(super) fn from_csv(text: &str) -> Result<Read, Mistake> {
    let head = text.trim_start().lines().next().unwrap_or_default();
    let separator = (SEPARATORS.into_iter())
        .find(|c| head.contains(*c))
        .unwrap_or(',');
    let mut read = Read::default();
    table::each_row(text, separator as u8, None, |row| {
        let message = row.get(CSV.message).unwrap_or_default();
        // Only HTTP samples have a URL.
        if message.starts_with(TRANSACTION) || row.get("URL") == Some("null") {
            read.left_out += 1;
        } else {
            let request = request(CSV, |name| row.get(name))?;
            read.requests.push((row.line, request));
        }
        Ok(())
    })?;
    Ok(read)
}

/// Reads the outermost HTTP samples: those within are the redirects and resources that its time contains.
pub(super) fn from_xml(text: &str) -> Result<Read, Mistake> {
    let mut read = Read::default();
    let mut within = 0_usize;
    xml::each_tag(text, |line, tag| {
        match tag {
            Tag::Open("httpSample", attributes, is_empty) => {
                if within == 0 {
                    let request = request(XML, |name| attributes.get(name).map(String::as_str))?;
                    read.requests.push((line, request));
                }
                within += usize::from(!is_empty);
            }
            Tag::Close("httpSample") => within = within.saturating_sub(1),
            Tag::Open("sample", ..) if within == 0 => read.left_out += 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(read)
}

fn request<'a>(names: Names, get: impl Fn(&str) -> Option<&'a str>) -> Result<Request, String> {
    let ms = |name: &str| {
        get(name)
            .map(|value| time(name, value, NS_PER_MS))
            .transpose()
    };
    let end_ns = ms(names.elapsed)?.ok_or_else(|| format!("there is no `{}`", names.elapsed))?;
    let failure = failure(names, &get)?;
    if end_ns == 0 && failure.is_none() {
        return Err(format!(
            "`{}` is 0 ms: JMeter's whole ms are too coarse for this server (without these rows the arm would look \
             slower), or the response came from its cache: turn the HTTP Cache Manager off and measure again",
            names.elapsed
        ));
    }
    // 0 where there was no response.
    let latency = ms(names.latency)?.filter(|ns| *ns > 0);
    Ok(Request {
        group: group("", get(names.label).unwrap_or_default()),
        first: ms(names.connect)?.map(|ns| ns > 0),
        first_byte_ns: latency,
        end_ns,
        failure,
        ..Request::default()
    })
}

fn failure<'a>(
    names: Names,
    get: &impl Fn(&str) -> Option<&'a str>,
) -> Result<Option<Failure>, String> {
    let code = get(names.code).unwrap_or_default();
    let message = get(names.message).unwrap_or_default();
    let message = message.strip_prefix(NO_MESSAGE).unwrap_or(message);
    if let Some(exception) = code.strip_prefix(NO_RESPONSE) {
        return Ok(Some(Failure::new(0, &format!("{exception}: {message}"))));
    }
    let status = code.parse().unwrap_or(0);
    match get(names.success) {
        Some("true") => Ok(None),
        // An assertion failed.
        Some("false") if (200..400).contains(&status) => Ok(Some(Failure {
            kind: ErrorKind::Other,
            detail: "JMeter says success=false".to_owned(),
        })),
        Some("false") => Ok(Some(Failure::new(status, message))),
        Some(other) => Err(format!(
            "`{}` is {other:?}, expected true or false",
            names.success
        )),
        None if code.is_empty() => Err(format!(
            "there is neither `{}` nor `{}`, so failures would be taken for responses",
            names.success, names.code
        )),
        None => Ok(Failure::of(status, "")),
    }
}
