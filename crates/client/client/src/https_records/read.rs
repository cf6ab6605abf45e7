//! Reads HTTPS records (RFC 9460) in a name server's answer, which may be anything.

use std::time::Duration;

use route::H3Record;
use simple_dns::rdata::{RData, SVCB, SVCParam};
use simple_dns::{CharacterString, Name, Packet, PacketFlag};

/// Keys that an endpoint may demand and that are known here: `mandatory` itself, `alpn`,
/// `no-default-alpn`, `port`, and the hints (RFC 9460 section 14.3.2).
const KNOWN_KEYS: [u16; 6] = [0, 1, 2, 3, 4, 6];

/// Returns the record with HTTP/3 that the server prefers. Records that lead to another name are
/// ignored: only the origin's own addresses are looked up.
pub(super) fn h3_in(answer: &[u8], host: &str, port: u16) -> Option<Option<H3Record>> {
    let packet = Packet::parse(answer).ok()?;
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return None;
    }
    let (here, h3) = (Name::new(host).ok()?, CharacterString::new(b"h3").ok()?);
    let records = packet
        .answers
        .iter()
        .filter_map(|record| match &record.rdata {
            RData::HTTPS(https) => Some((record, &https.0)),
            _ => None,
        });
    let usable = records.filter(|(of, record)| {
        let target = &record.target;
        let stays = target.get_labels().is_empty() || *target == of.name || *target == here;
        stays && record.priority > 0 && is_understood(record)
    });
    let of_h3 = usable.filter(|(_, record)| {
        let is_h3 = |param: &SVCParam<'_>| matches!(param, SVCParam::Alpn(of) if of.contains(&h3));
        record.iter_params().any(is_h3)
    });
    let (of, best) = match of_h3.min_by_key(|(_, record)| record.priority) {
        Some(best) => best,
        None => return Some(None),
    };
    let own = best.iter_params().find_map(|param| match param {
        SVCParam::Port(port) => Some(*port),
        _ => None,
    });
    Some(Some(H3Record {
        port: own.unwrap_or(port),
        ttl: Duration::from_secs(of.ttl.into()),
    }))
}

/// Reports whether all that the record demands is known here (RFC 9460 section 8).
fn is_understood(record: &SVCB<'_>) -> bool {
    record.iter_params().all(|param| match param {
        SVCParam::Mandatory(keys) => keys.iter().all(|key| KNOWN_KEYS.contains(key)),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::CLASS;
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::HTTPS;

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
        assert_eq!(port_in(&[]), Some(None));
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
