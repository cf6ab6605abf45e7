use messages::{Codec, Compression, Format, Kind};

const MAX_BYTES: usize = 1 << 16;
const MAX_ELEMENTS: usize = 1 << 12;

/// Decodes a message in any codec, after the check that the server makes first, and encodes it again.
pub fn codec(data: &[u8]) {
    let Some((&[format, compression, kind], bytes)) = data.split_first_chunk() else {
        return;
    };
    let (Some(format), Some(compression), Some(kind)) = (
        Format::ALL.get(usize::from(format)),
        Compression::ALL.get(usize::from(compression)),
        Kind::ALL.get(usize::from(kind)),
    ) else {
        return;
    };
    let codec = Codec {
        format: *format,
        compression: *compression,
    };
    let mut coder = codec.coder();
    if let Ok(plain) = coder.decompress(bytes, MAX_BYTES)
        && format.check_elements(&plain, MAX_ELEMENTS).is_ok()
        && let Ok(message) = format.decode_message(*kind, &plain)
    {
        coder.encode(&message);
    }
}
