//! The data of an HTTPS record (RFC 9460 section 2.2).

use super::message::Reader;

/// Keys of parameters that count here (RFC 9460 section 14.3.2).
const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4_HINT: u16 = 4;
const IPV6_HINT: u16 = 6;
/// Keys that a record may demand and that are known here.
const KNOWN_KEYS: [u16; 5] = [ALPN, NO_DEFAULT_ALPN, PORT, IPV4_HINT, IPV6_HINT];

/// The data of an HTTPS record.
pub(super) struct Service {
    /// 0: an alias.
    pub(super) priority: u16,
    pub(super) target: Vec<u8>,
    pub(super) has_h3: bool,
    pub(super) port: Option<u16>,
    /// Whether all that the record demands is there and known here (RFC 9460 sections 2.4.3 and 8).
    pub(super) is_understood: bool,
}

impl Service {
    /// Returns nothing if the data is malformed.
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        let mut data = Reader { bytes: data, at: 0 };
        let (priority, target) = (data.u16()?, data.plain_name()?);
        let mut service = Self {
            priority,
            target,
            has_h3: false,
            port: None,
            is_understood: true,
        };
        if priority == 0 {
            // Parameters of an alias do not count, whatever they are (RFC 9460 section 2.4.2).
            return Some(service);
        }
        let (mut keys, mut mandatory) = (Vec::new(), Vec::new());
        while !data.is_at_end() {
            let (key, length) = (data.u16()?, data.u16()?);
            let value = data.take(length.into())?;
            if keys.last().is_some_and(|before| *before >= key) {
                return None;
            }
            keys.push(key);
            match key {
                MANDATORY => mandatory = mandatory_keys(value)?,
                ALPN => service.has_h3 = protocols(value)?.contains(&&b"h3"[..]),
                PORT => service.port = Some(u16::from_be_bytes(value.try_into().ok()?)),
                NO_DEFAULT_ALPN if !value.is_empty() => return None,
                IPV4_HINT if !is_list_of(value, 4) => return None,
                IPV6_HINT if !is_list_of(value, 16) => return None,
                _ => {}
            }
        }
        let known = |key: &u16| KNOWN_KEYS.contains(key) && keys.contains(key);
        let has_protocols = keys.contains(&ALPN) || !keys.contains(&NO_DEFAULT_ALPN);
        // Nobody listens on port 0.
        service.is_understood =
            mandatory.iter().all(known) && has_protocols && service.port != Some(0);
        Some(service)
    }
}

/// Reads the keys that a record demands: in order, each once, without `mandatory` itself.
fn mandatory_keys(value: &[u8]) -> Option<Vec<u16>> {
    let (keys, []) = value.as_chunks() else {
        return None;
    };
    let keys: Vec<u16> = keys.iter().map(|key| u16::from_be_bytes(*key)).collect();
    let is_list = !keys.is_empty() && keys.is_sorted_by(|a, b| a < b) && keys[0] != MANDATORY;
    is_list.then_some(keys)
}

/// Reads names of protocols, none of which is empty; there is at least one.
fn protocols(value: &[u8]) -> Option<Vec<&[u8]>> {
    let mut value = Reader {
        bytes: value,
        at: 0,
    };
    let mut names = Vec::new();
    while names.is_empty() || !value.is_at_end() {
        let [length] = *value.take(1)? else {
            return None;
        };
        let name = value.take(length.into())?;
        if name.is_empty() {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

fn is_list_of(value: &[u8], bytes: usize) -> bool {
    !value.is_empty() && value.len().is_multiple_of(bytes)
}
