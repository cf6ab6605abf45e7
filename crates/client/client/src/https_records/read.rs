//! Reads HTTPS records (RFC 9460) in a name server's answer, which may be anything.

use std::time::Duration;

use route::H3Record;

/// The type HTTPS (RFC 9460 section 14.1) and the class IN (RFC 1035 section 3.2.4).
const HTTPS: u16 = 65;
const IN: u16 = 1;
/// Flags of a message (RFC 1035 section 4.1.1): it is a response, it is truncated, its code.
const RESPONSE: u16 = 0x8000;
const TRUNCATED: u16 = 0x0200;
const CODE: u16 = 0x000f;
/// Codes that answer the question: no error, and no such name.
const ANSWERED: [u16; 2] = [0, 3];
/// Bytes of a name at most (RFC 1035 section 3.1).
const MAX_NAME_BYTES: usize = 255;
/// Pointers that a name follows at most: it has no more labels in 255 bytes.
const MAX_POINTERS: usize = 127;
/// Bytes of a message at most: over TCP a length of two bytes precedes it (RFC 1035 section 4.2.2).
const MAX_MESSAGE_BYTES: usize = 65_535;
/// Keys of parameters that count here (RFC 9460 section 14.3.2).
const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const PORT: u16 = 3;
/// Keys that an endpoint may demand and that are known here: `mandatory` itself, `alpn`,
/// `no-default-alpn`, `port`, and the hints (RFC 9460 section 14.3.2).
const KNOWN_KEYS: [u16; 6] = [0, 1, 2, 3, 4, 6];

/// Returns the record with HTTP/3 that the server prefers. Records that lead to another name are
/// ignored: only the origin's own addresses are looked up. Nothing at all if the message is no whole answer, or
/// one of its records is malformed (RFC 9460 section 2.2).
pub(crate) fn h3_in(answer: &[u8], host: &str, port: u16) -> Option<Option<H3Record>> {
    if answer.len() > MAX_MESSAGE_BYTES {
        return None;
    }
    let here = wire_name(host)?;
    let mut message = Reader {
        bytes: answer,
        at: 2,
    };
    let flags = message.u16()?;
    let is_whole = flags & RESPONSE != 0 && flags & TRUNCATED == 0;
    if !is_whole || !ANSWERED.contains(&(flags & CODE)) {
        return None;
    }
    let (questions, answers) = (message.u16()?, message.u16()?);
    // The counts of the other two sections.
    message.take(4)?;
    for _ in 0..questions {
        message.name()?;
        message.take(4)?;
    }
    let mut best: Option<(u16, H3Record)> = None;
    for _ in 0..answers {
        let owner = message.name()?;
        let (kind, class, ttl) = (message.u16()?, message.u16()?, message.u32()?);
        let length = message.u16()?;
        let data = message.take(length.into())?;
        if (kind, class) != (HTTPS, IN) {
            continue;
        }
        let record = Service::parse(data)?;
        let target = &record.target;
        let stays = *target == [0] || *target == owner || *target == here;
        let is_better = best.is_none_or(|(priority, _)| record.priority < priority);
        if record.priority > 0 && stays && record.is_understood && record.has_h3 && is_better {
            let port = record.port.unwrap_or(port);
            let ttl = Duration::from_secs(ttl.into());
            best = Some((record.priority, H3Record { port, ttl }));
        }
    }
    Some(best.map(|(_, record)| record))
}

/// The data of a record.
struct Service {
    /// 0: an alias.
    priority: u16,
    /// As on the wire, in lower case.
    target: Vec<u8>,
    has_h3: bool,
    port: Option<u16>,
    /// Whether all that the record demands is known here (RFC 9460 section 8).
    is_understood: bool,
}

impl Service {
    /// Returns nothing if the data is malformed.
    fn parse(data: &[u8]) -> Option<Self> {
        let mut data = Reader { bytes: data, at: 0 };
        let priority = data.u16()?;
        // The target is not compressed, so a pointer in it leads nowhere.
        let target = data.name()?;
        let mut service = Self {
            priority,
            target,
            has_h3: false,
            port: None,
            is_understood: true,
        };
        let mut before = None;
        while !data.is_at_end() {
            let (key, length) = (data.u16()?, data.u16()?);
            let mut value = Reader {
                bytes: data.take(length.into())?,
                at: 0,
            };
            if before.is_some_and(|before| before >= key) {
                return None;
            }
            before = Some(key);
            match key {
                MANDATORY => {
                    while !value.is_at_end() {
                        service.is_understood &= KNOWN_KEYS.contains(&value.u16()?);
                    }
                }
                ALPN => {
                    while !value.is_at_end() {
                        let [length] = *value.take(1)? else {
                            return None;
                        };
                        service.has_h3 |= value.take(length.into())? == b"h3";
                    }
                }
                PORT => {
                    let port = value.u16()?;
                    if !value.is_at_end() {
                        return None;
                    }
                    // Nobody listens on port 0.
                    service.is_understood &= port != 0;
                    service.port = Some(port);
                }
                _ => {}
            }
        }
        Some(service)
    }
}

/// Returns a host as a name on the wire, in lower case.
fn wire_name(host: &str) -> Option<Vec<u8>> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let mut name = Vec::new();
    for label in host.split('.') {
        let length = u8::try_from(label.len()).ok();
        name.push(length.filter(|length| (1..64).contains(length))?);
        name.extend(label.bytes().map(|byte| byte.to_ascii_lowercase()));
    }
    name.push(0);
    (name.len() <= MAX_NAME_BYTES).then_some(name)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads a name; returns its labels as on the wire without compression (RFC 1035 section 4.1.4), in lower case.
    fn name(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        let mut label = Reader {
            bytes: self.bytes,
            at: self.at,
        };
        let mut end = None;
        // Each pointer leads further back, so that none is followed twice.
        let (mut start, mut pointers) = (self.at, 0);
        loop {
            let [length] = *label.take(1)? else {
                return None;
            };
            match length {
                0 => break,
                1..64 => {
                    name.push(length);
                    let bytes = label.take(length.into())?;
                    name.extend(bytes.iter().map(u8::to_ascii_lowercase));
                }
                0xc0.. => {
                    let [low] = *label.take(1)? else {
                        return None;
                    };
                    let to = usize::from(u16::from_be_bytes([length & 0x3f, low]));
                    end = end.or(Some(label.at));
                    pointers += 1;
                    if to >= start || pointers > MAX_POINTERS {
                        return None;
                    }
                    (start, label.at) = (to, to);
                }
                _ => return None,
            }
            if name.len() >= MAX_NAME_BYTES {
                return None;
            }
        }
        name.push(0);
        self.at = end.unwrap_or(label.at);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use simple_dns::rdata::{HTTPS, RData, SVCB};
    use simple_dns::{CLASS, CharacterString, Name, Packet, PacketFlag, ResourceRecord};

    use super::*;

    fn record(priority: u16, target: &str, alpn: &[&'static str]) -> SVCB<'static> {
        let mut record = SVCB::new(priority, Name::new(target).unwrap().into_owned());
        let alpn = alpn.iter().map(|name| name.as_bytes());
        let alpn: Vec<_> = alpn
            .map(|name| CharacterString::new(name).unwrap())
            .collect();
        record.set_alpn(&alpn);
        record
    }

    /// Returns the port, and checks the time.
    fn port_in(records: &[SVCB<'static>]) -> Option<Option<u16>> {
        let mut packet = Packet::new_reply(1);
        for record in records {
            let name = Name::new("a.example").unwrap();
            let rdata = RData::HTTPS(HTTPS(record.clone()));
            packet
                .answers
                .push(ResourceRecord::new(name, CLASS::IN, 60, rdata));
        }
        let found = h3_in(&packet.build_bytes_vec().unwrap(), "a.example", 443)?;
        Some(found.map(|record| {
            assert_eq!(record.ttl, Duration::from_secs(60));
            record.port
        }))
    }

    #[test]
    fn the_record_that_the_server_prefers_tells_the_port() {
        let elsewhere = record(1, "b.example", &["h3"]);
        let mut on_8443 = record(2, ".", &["h2", "h3"]);
        on_8443.set_port(8_443);
        let own = record(3, "A.example", &["h3"]);
        let all = [own.clone(), on_8443.clone(), elsewhere.clone()];
        assert_eq!(port_in(&all), Some(Some(8_443)));
        assert_eq!(port_in(&[own]), Some(Some(443)));
        assert_eq!(port_in(&[elsewhere]), Some(None));
        assert_eq!(port_in(&[record(1, ".", &["h2"])]), Some(None));
        // An alias has no parameters that count.
        assert_eq!(port_in(&[record(0, ".", &["h3"])]), Some(None));
        let mut demanding = record(1, ".", &["h3"]);
        for (key, port) in [(4, Some(443)), (5, None), (7, None)] {
            demanding.set_mandatory([key].into_iter());
            assert_eq!(port_in(&[demanding.clone()]), Some(port), "key {key}");
        }
        let mut nowhere = own_with_port(0);
        assert_eq!(port_in(&[nowhere.clone()]), Some(None));
        nowhere.set_port(444);
        assert_eq!(port_in(&[nowhere]), Some(Some(444)));
        assert_eq!(port_in(&[]), Some(None));
    }

    fn own_with_port(port: u16) -> SVCB<'static> {
        let mut record = record(1, ".", &["h3"]);
        record.set_port(port);
        record
    }

    /// Returns a response with one answer: the owner's bytes, and the record's data.
    fn message(owner: &[u8], data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 1, 0x80, 0, 0, 1, 0, 1, 0, 0, 0, 0];
        bytes.extend(b"\x01a\x07example\0\0\x41\0\x01");
        bytes.extend(owner);
        bytes.extend([0, 65, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
        bytes.extend(data);
        bytes
    }

    #[test]
    fn names_are_decompressed_and_pointers_lead_back_only() {
        let data = b"\0\x01\0\0\x01\0\x03\x02h3";
        let read = |owner: &[u8]| h3_in(&message(owner, data), "a.example", 443);
        let record = H3Record {
            port: 443,
            ttl: Duration::from_secs(60),
        };
        // The question's name is at byte 12, and its end at 14 after one label.
        for owner in [&b"\xc0\x0c"[..], b"\x01b\xc0\x0e", b"\0"] {
            assert_eq!(read(owner), Some(Some(record)), "{owner:?}");
        }
        // To itself, forwards, beyond the end, and with the two reserved bits.
        for owner in [&b"\xc0\x1b"[..], b"\xc0\x1d", b"\xff\xff", b"\x40", b"\x80"] {
            assert_eq!(read(owner), None, "{owner:?}");
        }
        let long = [&b"\x3f"[..], &[b'a'; 63]].concat().repeat(4);
        assert_eq!(read(&[&long[..], b"\0"].concat()), None);
    }

    /// Or names of a long answer would take as many steps as its square has bytes.
    #[test]
    fn pointers_to_pointers_are_followed_127_times() {
        let read = |pointers: usize| {
            // The first answer is of no interest. Its name is the root, and its data are the pointers.
            let mut bytes = vec![0, 1, 0x80, 0, 0, 0, 0, 2, 0, 0, 0, 0];
            bytes.extend([0, 0, 1, 0, 1, 0, 0, 0, 60]);
            bytes.extend(u16::try_from(2 * pointers).unwrap().to_be_bytes());
            let mut to = 12_u16;
            for _ in 0..pointers {
                let at = u16::try_from(bytes.len()).unwrap();
                bytes.extend((0xc000 | to).to_be_bytes());
                to = at;
            }
            bytes.extend((0xc000 | to).to_be_bytes());
            bytes.extend(b"\0\x41\0\x01\0\0\0\x3c\0\x0a\0\x01\0\0\x01\0\x03\x02h3");
            h3_in(&bytes, "a.example", 443)
        };
        assert!(read(0).is_some_and(|found| found.is_some()));
        assert!(read(126).is_some_and(|found| found.is_some()));
        assert_eq!(read(127), None);
    }

    #[test]
    fn a_malformed_record_rejects_them_all() {
        let read = |data: &[u8]| h3_in(&message(b"\xc0\x0c", data), "a.example", 443);
        assert_eq!(read(b"\0\x01\0"), Some(None));
        for data in [
            // No target; a target that breaks off; a compressed one.
            &b"\0\x01"[..],
            b"\0\x01\x05a",
            b"\0\x01\xc0\x0c",
            // Half a key; a value that breaks off.
            b"\0\x01\0\0",
            b"\0\x01\0\0\x01\0\x04\x02h3",
            // A protocol that breaks off; half a key that is mandatory; ports of one and of three bytes.
            b"\0\x01\0\0\x01\0\x02\x02h",
            b"\0\x01\0\0\0\0\x01\x01",
            b"\0\x01\0\0\x03\0\x01\x01",
            b"\0\x01\0\0\x03\0\x03\x01\x01\x01",
            // Keys that are not in order, and one that comes twice.
            b"\0\x01\0\0\x03\0\x02\x01\xbb\0\x01\0\x03\x02h3",
            b"\0\x01\0\0\x01\0\x03\x02h3\0\x01\0\x03\x02h3",
        ] {
            assert_eq!(read(data), None, "{data:?}");
        }
    }

    #[test]
    fn only_answers_say_that_there_is_no_record() {
        let mut bytes = message(b"\xc0\x0c", b"\0\x01\0");
        for (code, read) in [(0, Some(None)), (2, None), (3, Some(None)), (5, None)] {
            bytes[3] = code;
            assert_eq!(h3_in(&bytes, "a.example", 443), read, "code {code}");
        }
        // A query is no answer.
        bytes[2..4].fill(0);
        assert_eq!(h3_in(&bytes, "a.example", 443), None);
    }

    #[test]
    fn whatever_comes_is_no_more_than_no_answer() {
        let mut packet = Packet::new_reply(1);
        packet.set_flags(PacketFlag::TRUNCATION);
        let truncated = packet.build_bytes_vec().unwrap();
        for bytes in [&truncated[..], &truncated[..5], b"", &[0xff; 100]] {
            assert_eq!(h3_in(bytes, "a.example", 443), None);
        }
    }
}
