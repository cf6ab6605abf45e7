//! The values of a step's keys, each checked against its bounds.

use record::{LoadPlan, Pace};

use super::{MAX_BODY_BYTES, MAX_FILE_BYTES, MAX_STEPS, MAX_STREAM_MESSAGES, RawStep};
use crate::own::{RawOwn, RawPayload};
use crate::{DEFAULT_BODY, load};

impl RawStep {
    /// Takes the keys of a request of the study's own.
    pub(super) fn own(&mut self) -> RawOwn {
        RawOwn {
            method: self.method.take(),
            path: self.path.take(),
            request: RawPayload {
                file: self.request.take(),
                bytes: self.request_bytes.take().map(u64::from),
                content_type: self.content_type.take(),
            },
            response: RawPayload {
                file: self.response.take(),
                bytes: self.response_bytes.take().map(u64::from),
                content_type: self.response_type.take(),
            },
            headers: self.headers.take(),
        }
    }

    pub(super) fn times(&self) -> Result<u32, String> {
        let times = self.times.unwrap_or(1);
        in_range("times", u64::from(times), MAX_STEPS as u64).map(|()| times)
    }

    /// Returns how long requests are made and when each starts, if the step is bound by time.
    pub(super) fn load(&self) -> Result<Option<LoadPlan>, String> {
        let pace = match (self.outstanding, self.rate_per_s) {
            (Some(_), Some(_)) => {
                return Err(
                    "`outstanding` is a closed loop and `rate_per_s` an open one: \
                            a step has one of them"
                        .to_owned(),
                );
            }
            (None, Some(rate)) => Pace::RatePerS(rate),
            (calls, None) => Pace::Outstanding(calls.unwrap_or(1)),
        };
        let Some(for_s) = self.for_s else {
            let alone = [
                ("warmup_s", self.warmup_s.is_some()),
                ("outstanding", self.outstanding.is_some()),
                ("rate_per_s", self.rate_per_s.is_some()),
            ];
            return match alone.iter().find(|(_, set)| *set) {
                Some((key, _)) => Err(format!("`{key}` goes with `for_s`")),
                None => Ok(None),
            };
        };
        if self.times.is_some() {
            return Err("`for_s` makes requests until time is over; leave out `times`".to_owned());
        }
        let warmup_s = self.warmup_s.map_or(0.0, f64::from);
        load::check(for_s.into(), warmup_s, pace).map(Some)
    }

    /// Returns the step that makes one of its requests.
    pub(super) fn once(self) -> RawStep {
        RawStep {
            for_s: None,
            warmup_s: None,
            outstanding: None,
            rate_per_s: None,
            ..self
        }
    }

    pub(super) fn bytes(&self, action: &str) -> Result<u64, String> {
        let bytes = self
            .bytes
            .ok_or_else(|| format!("{action} needs `bytes`"))?
            .into();
        in_range("bytes", bytes, MAX_FILE_BYTES).map(|()| bytes)
    }

    pub(super) fn body(&self) -> Result<String, String> {
        if let Some(bytes) = self.body_bytes {
            return match self.body {
                Some(_) => Err("`body` has its own length; leave out `body_bytes`".to_owned()),
                None => padded_body(bytes.into()),
            };
        }
        let body = self.body.as_deref().unwrap_or(DEFAULT_BODY);
        if body.len() > MAX_BODY_BYTES {
            let len = body.len();
            return Err(format!(
                "the body has {len} bytes; at most {MAX_BODY_BYTES}"
            ));
        }
        serde_json::from_str::<serde_json::Value>(body)
            .map_err(|e| format!("body is not JSON: {e}"))?;
        Ok(body.to_owned())
    }

    pub(super) fn stream_messages(&self) -> Result<u32, String> {
        let messages = self.messages.unwrap_or(1);
        in_range("messages", u64::from(messages), MAX_STREAM_MESSAGES).map(|()| messages)
    }

    pub(super) fn submitted_message(&self) -> Result<messages::Name, String> {
        let name = self.message.as_deref().map(str::parse::<messages::Name>);
        match name {
            Some(Ok(name)) if is_submittable(&name) => Ok(name),
            _ => Err("submit needs `message`, \"diag-100kB\" or \"diag-1MB\"".to_owned()),
        }
    }

    pub(super) fn exchange_messages(&self) -> Result<Vec<messages::Name>, String> {
        match &self.message {
            Some(file) if file.contains('/') || file.ends_with(".json") => Err(format!(
                "`message` is one of the codec bench's, e.g. \"api-2kB\"; a payload of your own is \
                 sent by `call = \"GROUP\"` with `request = \"{file}\"`"
            )),
            Some(text) => message_names(text),
            None => Err("exchange needs `message`, e.g. \"api-2kB\" or \"big-0..99\"".to_owned()),
        }
    }
}

/// Returns an echo message of this many bytes.
fn padded_body(bytes: u64) -> Result<String, String> {
    let (head, tail) = (r#"{"start_ts":1763757325123,"padding":""#, r#""}"#);
    let least = head.len() + tail.len();
    if !(least as u64..=MAX_BODY_BYTES as u64).contains(&bytes) {
        return Err(format!(
            "body_bytes = {bytes} is out of range: {least} to {MAX_BODY_BYTES}"
        ));
    }
    // Text that compresses to nothing would flatter whatever compresses.
    let letters = (0..bytes as usize - least).map(|i| char::from(b'a' + (i * i % 97 % 26) as u8));
    Ok(head.chars().chain(letters).chain(tail.chars()).collect())
}

/// Reports whether the server takes this message without returning it.
fn is_submittable(name: &messages::Name) -> bool {
    matches!(name, messages::Name::Diag { .. })
}

/// Checks that a value is between 1 and `max`.
pub(super) fn in_range(key: &str, value: u64, max: u64) -> Result<(), String> {
    match value {
        v if v == 0 || v > max => Err(format!("{key} = {v} is out of range: 1 to {max}")),
        _ => Ok(()),
    }
}

/// Parses one message name, or a range of them: `big-0..99` is a hundred.
fn message_names(text: &str) -> Result<Vec<messages::Name>, String> {
    let name = |name: &str| name.parse::<messages::Name>().map_err(|e| e.to_string());
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![name(text)?]);
    };
    let (family, low) = first.rsplit_once('-').unwrap_or((first, ""));
    let bad = || format!("message = \"{text}\": write a range as e.g. \"big-0..99\"");
    let (low, high): (u32, u32) = (
        low.parse().map_err(|_| bad())?,
        last.parse().map_err(|_| bad())?,
    );
    if low > high {
        return Err(format!(
            "message = \"{text}\": a range goes from the smaller to the larger number"
        ));
    }
    // Both ends must be valid before the range is expanded, which bounds its length.
    name(&format!("{family}-{low}"))?;
    name(&format!("{family}-{high}"))?;
    (low..=high)
        .map(|n| name(&format!("{family}-{n}")))
        .collect()
}
