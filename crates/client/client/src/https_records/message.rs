//! Numbers and names in DNS messages (RFC 1035 section 4.1), which may be anything.

/// Bytes of a name at most (RFC 1035 section 3.1).
const MAX_NAME_BYTES: usize = 255;
/// Pointers that a name follows at most: it has no more labels in 255 bytes.
const MAX_POINTERS: usize = 127;

/// Returns a host as a name on the wire, in lower case.
pub(super) fn wire_name(host: &str) -> Option<Vec<u8>> {
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

pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads a name without pointers, as the data of an HTTPS record has it (RFC 9460 section 2.2).
    pub(super) fn plain_name(&mut self) -> Option<Vec<u8>> {
        let begin = self.at;
        let name = self.name()?;
        (self.at - begin == name.len()).then_some(name)
    }

    /// Reads a name; returns its labels as on the wire without compression (RFC 1035 section 4.1.4), in lower case.
    pub(super) fn name(&mut self) -> Option<Vec<u8>> {
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
