"""Compression of another codec's output."""

import zlib
from dataclasses import replace

import zstandard

LONGEST = 64 << 20  # bytes that a decompressor may produce
GZIP = 31  # zlib's wbits for the format of RFC 1952 with the largest window


def gzip(make, level):
    """Adds gzip: one zlib call each way, as the gzip module does for whole messages.

    gzip.decompress does not limit its output, so this calls the decompressobj under it.
    """
    def compress(plain):
        return zlib.compress(plain, level, GZIP)

    def decompress(encoded):
        stream = zlib.decompressobj(GZIP)
        plain = stream.decompress(encoded, LONGEST)
        if not stream.eof:
            too_long = stream.unconsumed_tail or len(plain) == LONGEST
            raise ValueError(f"decompresses to more than {LONGEST} bytes" if too_long else "truncated")
        if stream.unused_data:
            raise ValueError("bytes follow the compressed message")
        return plain

    return lambda schema, message: compressed(make(schema, message), compress, decompress)


def zstd(make, level):
    """Adds zstd: one call each way on a kept compressor and decompressor, as zstandard advises."""
    def make_compressed(schema, message):
        compressor, decompressor = zstandard.ZstdCompressor(level=level), zstandard.ZstdDecompressor()

        def decompress(encoded):
            # A frame that states its length gets a buffer of it, whatever max_output_size is.
            if zstandard.frame_content_size(encoded) > LONGEST:
                raise ValueError(f"decompresses to more than {LONGEST} bytes")
            return decompressor.decompress(encoded, max_output_size=LONGEST, allow_extra_data=False)

        return compressed(make(schema, message), compressor.compress, decompress)

    return make_compressed


def compressed(codec, compress, decompress):
    encode, decode = codec.encode, codec.decode
    return replace(
        codec,
        encode=lambda populated: compress(encode(populated)),
        decode=lambda encoded: decode(decompress(encoded)),
    )
