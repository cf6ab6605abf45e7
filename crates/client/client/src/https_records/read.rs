//! Reads HTTPS records (RFC 9460) in a name server's answer, which may be anything.

use std::time::Duration;

use route::H3Record;

use super::message::{Reader, wire_name};
use super::service::Service;

/// The type HTTPS (RFC 9460 section 14.1) and the class IN (RFC 1035 section 3.2.4).
const HTTPS: u16 = 65;
const IN: u16 = 1;
/// The type CNAME (RFC 1035 section 3.2.2).
const CNAME: u16 = 5;
/// Flags of a message (RFC 1035 section 4.1.1): it is a response, it is truncated, its code.
const RESPONSE: u16 = 0x8000;
const TRUNCATED: u16 = 0x0200;
const CODE: u16 = 0x000f;
/// Codes that answer the question: no error, and no such name.
const ANSWERED: [u16; 2] = [0, 3];
/// Bytes of a message at most: over TCP a length of two bytes precedes it (RFC 1035 section 4.2.2).
const MAX_MESSAGE_BYTES: usize = 65_535;
/// Returns the record with HTTP/3 that the server prefers, of those that answer the question for this host and port. A
/// record that leads to another name is ignored, and with an alias all are (RFC 9460 section 2.4.1): only the origin's
/// own addresses are looked up. Nothing at all if the message is no whole answer, or one of its records is malformed
/// (RFC 9460 section 2.2).
pub(crate) fn h3_in(answer: &[u8], host: &str, port: u16) -> Option<Option<H3Record>> {
    if answer.len() > MAX_MESSAGE_BYTES {
        return None;
    }
    let (here, asked) = (wire_name(host)?, wire_name(&question(host, port))?);
    let records = records(answer)?;
    let names = names_of(asked, &records);
    let of_origin = records
        .iter()
        .filter_map(|record| match &record.data {
            Data::Https(service) if names.contains(&record.owner) => Some((record, service)),
            _ => None,
        })
        .collect::<Vec<_>>();
    if of_origin.iter().any(|(_, service)| service.priority == 0) {
        return Some(None);
    }
    let usable = of_origin.iter().filter(|(record, service)| {
        let target = &service.target;
        let stays = *target == [0] || *target == record.owner || *target == here;
        stays && service.is_understood && service.has_h3
    });
    let best = usable.min_by_key(|(_, service)| service.priority);
    Some(best.map(|(record, service)| H3Record {
        port: service.port.unwrap_or(port),
        ttl: Duration::from_secs(record.ttl.into()),
    }))
}

/// Returns the name whose record is asked for (RFC 9460 section 9.1).
pub(super) fn question(host: &str, port: u16) -> String {
    match port {
        443 => host.to_owned(),
        _ => format!("_{port}._https.{host}"),
    }
}

/// A record of the section with answers, if its type is read here.
struct Record {
    /// As on the wire without compression, in lower case. So are all names here.
    owner: Vec<u8>,
    ttl: u32,
    data: Data,
}

enum Data {
    /// The owner is another name for this one.
    Alias(Vec<u8>),
    Https(Service),
}

/// Reads the answers of a whole message.
fn records(answer: &[u8]) -> Option<Vec<Record>> {
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
    let mut records = Vec::new();
    for _ in 0..answers {
        let owner = message.name()?;
        let (kind, class, ttl) = (message.u16()?, message.u16()?, message.u32()?);
        let length = message.u16()?;
        let mut name = Reader {
            bytes: answer,
            at: message.at,
        };
        let data = message.take(length.into())?;
        let data = match (kind, class) {
            (HTTPS, IN) => Data::Https(Service::parse(data)?),
            (CNAME, IN) => Data::Alias(name.name()?),
            _ => continue,
        };
        records.push(Record { owner, ttl, data });
    }
    Some(records)
}

/// Returns a name and all that CNAME records make of it.
fn names_of(asked: Vec<u8>, records: &[Record]) -> Vec<Vec<u8>> {
    let mut names = vec![asked];
    // Records may come in any order, and in a circle.
    while let Some(next) = records.iter().find_map(|record| match &record.data {
        Data::Alias(to) if names.last() == Some(&record.owner) && !names.contains(to) => Some(to),
        _ => None,
    }) {
        names.push(next.clone());
    }
    names
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
        // With an alias the others do not count.
        let alias = record(0, "b.example", &[]);
        assert_eq!(port_in(&[on_8443.clone(), alias]), Some(None));
        // Key 1 is there, 3 and 4 are not, and 5 and 7 are not known.
        let mut demanding = record(1, ".", &["h3"]);
        for (key, port) in [(1, Some(443)), (3, None), (4, None), (5, None), (7, None)] {
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
        for owner in [&b"\xc0\x0c"[..], b"\x01A\xc0\x0e", b"\x01a\x07example\0"] {
            assert_eq!(read(owner), Some(Some(record)), "{owner:?}");
        }
        // The record of another name.
        for owner in [&b"\x01b\xc0\x0e"[..], b"\xc0\x0e", b"\0"] {
            assert_eq!(read(owner), Some(None), "{owner:?}");
        }
        // To itself, forwards, beyond the end, and with the two reserved bits.
        for owner in [&b"\xc0\x1b"[..], b"\xc0\x1d", b"\xff\xff", b"\x40", b"\x80"] {
            assert_eq!(read(owner), None, "{owner:?}");
        }
        let long = [&b"\x3f"[..], &[b'a'; 63]].concat().repeat(4);
        assert_eq!(read(&[&long[..], b"\0"].concat()), None);
    }

    #[test]
    fn a_record_counts_for_the_names_that_lead_to_it() {
        let https = b"\0\x01\0\0\x01\0\x03\x02h3";
        let read = |answers: &[(&[u8], u8, &[u8])], port| {
            let mut bytes = vec![0, 1, 0x80, 0, 0, 0, 0, answers.len() as u8, 0, 0, 0, 0];
            for (owner, kind, data) in answers {
                bytes.extend(*owner);
                bytes.extend([0, *kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
                bytes.extend(*data);
            }
            h3_in(&bytes, "a.example", port).map(|found| found.is_some())
        };
        let (a, b, c) = (&b"\x01a\x07example\0"[..], &b"\x01b\0"[..], &b"\x01c\0"[..]);
        let of_port = b"\x05_8443\x06_https\x01a\x07example\0";
        assert_eq!(read(&[(a, 65, https)], 443), Some(true));
        assert_eq!(read(&[(a, 65, https)], 8_443), Some(false));
        assert_eq!(read(&[(of_port, 65, https)], 8_443), Some(true));
        assert_eq!(read(&[(b, 65, https)], 443), Some(false));
        assert_eq!(read(&[(a, 5, b), (b, 65, https)], 443), Some(true));
        assert_eq!(
            read(&[(c, 65, https), (b, 5, c), (a, 5, b)], 443),
            Some(true)
        );
        assert_eq!(
            read(&[(a, 5, b), (b, 5, a), (c, 65, https)], 443),
            Some(false)
        );
        assert_eq!(read(&[(a, 5, b), (c, 65, https)], 443), Some(false));
        assert_eq!(read(&[(a, 5, b"\x05b")], 443), None);
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
        // The name is the root, whose record nobody asked for.
        assert_eq!(read(0), Some(None));
        assert_eq!(read(126), Some(None));
        assert_eq!(read(127), None);
    }

    #[test]
    fn a_malformed_record_rejects_them_all() {
        let read = |data: &[u8]| h3_in(&message(b"\xc0\x0c", data), "a.example", 443);
        assert_eq!(read(b"\0\x01\0"), Some(None));
        // Parameters of an alias may be anything.
        assert_eq!(read(b"\0\0\0\0\x03\0\x01\x01"), Some(None));
        // It has `no-default-alpn`, and so no protocol.
        assert_eq!(read(b"\0\x01\0\0\x02\0\0"), Some(None));
        for data in [
            // No target; a target that breaks off; compressed ones, some with pointers into the data itself.
            &b"\0\x01"[..],
            b"\0\x01\x05a",
            b"\0\x01\xc0\x0c",
            b"\0\x01\xc0\0\0\x01\0\x03\x02h3",
            b"\0\x01\xc0\x01\0\x01\0\x03\x02h3",
            // Half a key; a value that breaks off.
            b"\0\x01\0\0",
            b"\0\x01\0\0\x01\0\x04\x02h3",
            // A protocol that breaks off; half a key that is mandatory; ports of one and of three bytes.
            b"\0\x01\0\0\x01\0\x02\x02h",
            b"\0\x01\0\0\0\0\x01\x01",
            b"\0\x01\0\0\x03\0\x01\x01",
            b"\0\x01\0\0\x03\0\x03\x01\x01\x01",
            // No protocols, and one without a name.
            b"\0\x01\0\0\x01\0\0",
            b"\0\x01\0\0\x01\0\x04\0\x02h3",
            // Demands: none; not in order; one twice; `mandatory` itself.
            b"\0\x01\0\0\0\0\0\0\x01\0\x03\x02h3",
            b"\0\x01\0\0\0\0\x04\0\x03\0\x01\0\x01\0\x03\x02h3\0\x03\0\x02\x01\xbb",
            b"\0\x01\0\0\0\0\x04\0\x01\0\x01\0\x01\0\x03\x02h3",
            b"\0\x01\0\0\0\0\x02\0\0\0\x01\0\x03\x02h3",
            // `no-default-alpn` with a value; hints of no address and of parts of one.
            b"\0\x01\0\0\x01\0\x03\x02h3\0\x02\0\x01\0",
            b"\0\x01\0\0\x04\0\0",
            b"\0\x01\0\0\x04\0\x03\x7f\0\0",
            b"\0\x01\0\0\x06\0\x04\x7f\0\0\x01",
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
