"""Draws a matrix as a small picture: one pixel a weight, as a PNG inside the page, on light and on dark ground."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

INK = (22, 112, 190)  # its opacity is the weight, so the ground shows through where there is none


def png(weights_TS: Sequence[Sequence[float]], ink: tuple[int, int, int] = INK, fine: int = 1) -> bytes:
    """An RGBA image; 0 is clear, 1 (and more) is full. A weight is ``fine`` × ``fine`` pixels."""
    rows = [
        fine * (b"\x00" + b"".join(fine * bytes((*ink, round(255 * min(max(weight, 0.0), 1.0)))) for weight in row))
        for row in weights_TS
    ]
    header = struct.pack(">IIBBBBB", fine * len(weights_TS[0]), fine * len(weights_TS), 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def picture(weights_TS: Sequence[Sequence[float]], words: str) -> str:
    """The image as an element of a page, with words for those who do not see it."""
    data = base64.b64encode(png(weights_TS)).decode()
    return f'<img class="pixels" alt="{words}" src="data:image/png;base64,{data}">'
