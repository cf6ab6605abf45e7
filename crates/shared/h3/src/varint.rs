//! Variable-length integers.

/// A variable-length integer (RFC 9000 section 16) that may arrive in parts.
#[derive(Debug, Default)]
pub(crate) struct VarInt {
    value: u64,
    missing_bytes: u8,
}

impl VarInt {
    /// Takes a byte; returns the integer once it is complete.
    pub(crate) fn push(&mut self, byte: u8) -> Option<u64> {
        if self.missing_bytes == 0 {
            self.value = u64::from(byte & 0x3f);
            self.missing_bytes = 1 << (byte >> 6);
        } else {
            self.value = self.value << 8 | u64::from(byte);
        }
        self.missing_bytes -= 1;
        (self.missing_bytes == 0).then_some(self.value)
    }

    /// Reports whether a part of the integer has come.
    pub(crate) fn is_begun(&self) -> bool {
        self.missing_bytes > 0
    }
}
