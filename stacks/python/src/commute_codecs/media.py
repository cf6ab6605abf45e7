"""The codecs of exchanges over HTTP and their headers. Imports no library, so that a driver can
name the codecs without loading them."""

MEDIA_TYPES = {
    "json": "application/json",
    "protobuf": "application/protobuf",
    "msgpack": "application/vnd.msgpack",
    "msgpack-array": "application/vnd.msgpack; form=array",
    "msgpack-old": "application/vnd.msgpack; form=old",
}
# The server answers at these levels only.
CONTENT_ENCODINGS = {"": "identity", "gzip-6": "gzip", "zstd-3": "zstd"}

CODECS = (
    "json", "json+gzip-6", "json+zstd-3", "protobuf", "protobuf+gzip-6", "protobuf+zstd-3",
    "msgpack", "msgpack-array", "msgpack-old",
)


def headers(codec):
    """Returns the headers of an exchange in one of CODECS."""
    media_type, _, compression = codec.partition("+")
    encoding = CONTENT_ENCODINGS[compression]
    names = {"content-type": MEDIA_TYPES[media_type], "accept-encoding": encoding}
    return names if encoding == "identity" else {**names, "content-encoding": encoding}
