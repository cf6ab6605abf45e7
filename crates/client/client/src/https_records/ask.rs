//! Asks name servers for HTTPS records over UDP, feature `https-records`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use route::H3Record;
use simple_dns::rdata::OPT;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, TYPE};
use tokio::net::UdpSocket;

use super::read::{h3_in, question};

/// Bytes of a response that cross every path in one piece (RFC 9715). Those that have no room are
/// truncated, and count as none.
const MAX_RESPONSE_BYTES: u16 = 1_232;
/// Per server; races wait much shorter, so that a late answer is of use to the next one only.
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks these name servers, one after another, for the record by which an origin offers HTTP/3. Returns
/// nothing if none does. An error such as SERVFAIL is no answer.
pub(crate) async fn h3_record(
    servers: Arc<[SocketAddr]>,
    host: String,
    port: u16,
) -> Option<Option<H3Record>> {
    let name = question(&host, port);
    let name = Name::new(&name).ok()?.into_owned();
    for server in servers.iter() {
        if let Ok(Some(answer)) = tokio::time::timeout(PATIENCE, ask(*server, &name)).await
            && let Some(found) = h3_in(&answer, &host, port)
        {
            return Some(found);
        }
    }
    None
}

/// Returns the answer of one server.
async fn ask(server: SocketAddr, name: &Name<'_>) -> Option<Vec<u8>> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await.ok()?;
    // Packets from elsewhere are dropped. An attacker that forges one must guess port and id.
    socket.connect(server).await.ok()?;
    let [high, low, ..] = crate::memory::random().ok()?;
    let id = u16::from_be_bytes([high, low]);
    let (kind, class) = (QTYPE::TYPE(TYPE::HTTPS), QCLASS::CLASS(CLASS::IN));
    let question = Question::new(name.clone(), kind, class, false);
    let mut query = Packet::new_query(id);
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    query.questions.push(question.clone());
    *query.opt_mut() = Some(OPT {
        opt_codes: Vec::new(),
        udp_packet_size: MAX_RESPONSE_BYTES,
        version: 0,
    });
    socket.send(&query.build_bytes_vec().ok()?).await.ok()?;
    loop {
        let mut answer = vec![0; MAX_RESPONSE_BYTES.into()];
        let length = socket.recv(&mut answer).await.ok()?;
        answer.truncate(length);
        let is_answer = Packet::parse(&answer).is_ok_and(|packet| {
            packet.id() == id
                && packet.has_flags(PacketFlag::RESPONSE)
                && packet.questions.first().is_some_and(|asked| {
                    (&asked.qname, asked.qtype, asked.qclass)
                        == (&question.qname, question.qtype, question.qclass)
                })
        });
        if is_answer {
            return Some(answer);
        }
    }
}
