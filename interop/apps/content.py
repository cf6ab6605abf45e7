"""The files of the interoperability matrix, and ranges of them."""

import os
import re


def open_range(folder: str, name: str, range_field: str | None, condition: str | None):
    """Returns status, header fields, the open file at its first byte, and the number of bytes; None without a file."""
    path = os.path.join(folder, os.path.basename(name))
    if not os.path.isfile(path):
        return None
    size = os.path.getsize(path)
    etag = f'"{os.path.basename(name)}-{size}"'
    fields = [("etag", etag), ("accept-ranges", "bytes")]
    status, start, end = 200, 0, size - 1
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", range_field or "")
    if found and condition in (None, etag):
        status, start = 206, int(found[1])
        end = min(int(found[2]), size - 1) if found[2] else size - 1
        fields.append(("content-range", f"bytes {start}-{end}/{size}"))
    length = end + 1 - start
    fields.append(("content-length", str(length)))
    file = open(path, "rb")
    file.seek(start)
    return status, fields, file, length
