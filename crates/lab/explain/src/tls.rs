//! Where the handshake of TLS over TCP ends, as far as the payload's first bytes and lengths show it.

/// The types of TLS records (RFC 8446 section 5.1): the hello, what precedes an encrypted message of the handshake,
/// and whatever is encrypted.
const HANDSHAKE: u8 = 22;
const CIPHER_CHANGE: u8 = 20;
const DATA: u8 = 23;
/// A client of TLS 1.3 may send that record alone, before its last message (RFC 8446 appendix D.4).
const CIPHER_CHANGE_BYTES: u64 = 6;
/// A server that has sent no more has asked for another hello (RFC 8446 section 4.1.4). Its own hello has a key share or
/// is followed by a Finished, which makes it longer.
const RETRY_BYTES: u64 = 126;

/// A packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsPayload {
    /// The client sent it.
    pub from_client: bool,
    /// Its first byte; 0 if unknown.
    pub first_byte: u8,
    /// Its length.
    pub bytes: u64,
}

/// Returns the place of the client's first payload after its last message of the handshake, or with it. `None` if the
/// client's first payload is no hello, or if no such payload follows.
pub fn end_of_tls_handshake(payloads: impl IntoIterator<Item = TlsPayload>) -> Option<usize> {
    let (mut has_hello, mut answered) = (false, 0);
    for (place, payload) in payloads.into_iter().enumerate() {
        match payload.first_byte {
            _ if !payload.from_client => answered += payload.bytes,
            HANDSHAKE => has_hello = true,
            _ if !has_hello => return None,
            DATA => return Some(place),
            CIPHER_CHANGE if payload.bytes > CIPHER_CHANGE_BYTES && answered > RETRY_BYTES => {
                return Some(place);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(payloads: &[(bool, u8, u64)]) -> Option<usize> {
        let payloads = payloads.iter();
        end_of_tls_handshake(
            payloads.map(|&(from_client, first_byte, bytes)| TlsPayload {
                from_client,
                first_byte,
                bytes,
            }),
        )
    }

    #[test]
    fn a_handshake_ends_with_the_clients_last_message() {
        let (hello, flight) = ((true, HANDSHAKE, 517), (false, HANDSHAKE, 1_200));
        let alone = (true, CIPHER_CHANGE, 6);
        assert_eq!(end(&[hello, flight, (true, CIPHER_CHANGE, 80)]), Some(2));
        assert_eq!(end(&[hello, flight, (true, DATA, 74)]), Some(2));
        assert_eq!(end(&[hello, alone, flight, (true, DATA, 74)]), Some(3));
        assert_eq!(end(&[hello, flight, alone]), None);
        // TLS 1.2: the key exchange precedes the change of cipher.
        let exchange = (true, HANDSHAKE, 126);
        let finished = (false, CIPHER_CHANGE, 51);
        assert_eq!(
            end(&[hello, flight, exchange, finished, (true, DATA, 200)]),
            Some(4)
        );
        assert_eq!(end(&[(true, b'G', 300), (true, DATA, 300)]), None);
    }

    #[test]
    fn another_hello_is_not_the_last_message() {
        let hello = (true, HANDSHAKE, 517);
        let retry = (false, HANDSHAKE, 99);
        let flight = (false, HANDSHAKE, 1_200);
        let again = (true, CIPHER_CHANGE, 560);
        assert_eq!(
            end(&[hello, retry, again, flight, (true, DATA, 74)]),
            Some(4)
        );
    }
}
