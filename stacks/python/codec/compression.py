"""Compression of what another codec makes."""

import zlib
from dataclasses import replace

import zstandard

LONGEST = 64 << 20  # what may come out of a decompressor
GZIP = 31  # zlib's number for the format of RFC 1952 with the largest window


def gzip(make, level):
    """zlib in one call each way, as the gzip module does when it is given whole messages.

    gzip.decompress has no bound for what comes out, so the object under it is called.
    """
    def compress(plain):
        return zlib.compress(plain, level, GZIP)

    def decompress(encoded):
        stream = zlib.decompressobj(GZIP)
        plain = stream.decompress(encoded, LONGEST)
        if not stream.eof:
            too_long = stream.unconsumed_tail or len(plain) == LONGEST
            raise ValueError(f"more than {LONGEST} bytes came out" if too_long else "cut short")
        if stream.unused_data:
            raise ValueError("more bytes follow the compressed message")
        return plain

    return lambda schema, message: around(make(schema, message), compress, decompress)


def zstd(make, level):
    """zstandard in one call each way, with compressor and decompressor kept, as it advises."""
    def made(schema, message):
        compressor, decompressor = zstandard.ZstdCompressor(level=level), zstandard.ZstdDecompressor()

        def decompress(encoded):
            # A frame that says its length is given that much, whatever max_output_size is.
            if zstandard.frame_content_size(encoded) > LONGEST:
                raise ValueError(f"more than {LONGEST} bytes would come out")
            return decompressor.decompress(encoded, max_output_size=LONGEST, allow_extra_data=False)

        return around(make(schema, message), compressor.compress, decompress)

    return made


def around(codec, compress, decompress):
    encode, decode = codec.encode, codec.decode
    return replace(
        codec,
        encode=lambda own: compress(encode(own)),
        decode=lambda encoded: decode(decompress(encoded)),
    )
