"""WAV files without any package: PCM of 8, 16, 24 and 32 bits and floating point, in any number of channels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from regard.core.errors import DataError

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
UNKNOWN_SIZE = 0xFFFFFFFF  # written by programs that could not go back to the header; so is 0
CHUNK_HEADER = 8
FORMAT_BYTES, EXTENSIBLE_BYTES = 16, 26  # up to and with what is read of them
WIDTHS = {(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)}


class NotWav(DataError):
    """Not a WAV file, or one whose samples are coded in a way that is not read here."""


class WavFormat(NamedTuple):
    """How samples are stored."""

    codec: int
    channels: int
    rate: int
    bits: int

    @property
    def frame_bytes(self) -> int:
        """Of one sample of every channel."""
        return self.channels * self.bits // 8


class WavHeader(NamedTuple):
    """A file's format, where its samples begin, how many bytes they should have, and how many there are."""

    format: WavFormat
    start: int
    expected: int
    found: int

    @property
    def frames(self) -> int:
        return self.found // self.format.frame_bytes

    @property
    def expected_frames(self) -> int:
        return self.expected // self.format.frame_bytes


def is_wav(beginning: bytes) -> bool:
    return beginning[:4] == b"RIFF" and beginning[8:12] == b"WAVE"


def read_header(file: BinaryIO) -> WavHeader:
    """The header of an open file; a file that breaks off before its samples is refused."""
    if not is_wav(file.read(12)):
        raise NotWav("it does not begin as a WAV file does")
    layout = None
    for name, size, start in chunks(file):
        if name == b"fmt ":
            layout = read_format(file.read(size))
        elif name == b"data":
            if layout is None:
                raise DataError("its samples come before their format")
            there = file.seek(0, 2) - start
            expected = there if size in (0, UNKNOWN_SIZE) else size
            return WavHeader(layout, start, expected, min(there, expected))
    raise DataError("it breaks off before its samples")


def chunks(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Name, size and place of every chunk; the file stands at the chunk's first byte. Chunks begin at even places."""
    start = file.tell()
    while len(header := file.read(CHUNK_HEADER)) == CHUNK_HEADER:
        name, size = struct.unpack("<4sI", header)
        start += CHUNK_HEADER
        yield name, size, start
        start += size + size % 2
        file.seek(start)


def read_format(data: bytes) -> WavFormat:
    """What a format chunk says; of the extensible kind, the codec that it stands for."""
    if len(data) < FORMAT_BYTES:
        raise DataError("it breaks off in its header")
    codec, channels, rate, _, _, bits = struct.unpack("<HHIIHH", data[:FORMAT_BYTES])
    if codec == EXTENSIBLE and len(data) >= EXTENSIBLE_BYTES:
        (codec,) = struct.unpack("<H", data[24:26])
    if (codec, bits) not in WIDTHS:
        raise NotWav(f"its samples are coded as {codec} in {bits} bits; PCM of 8 to 32 bits and floats are read")
    if not channels or not rate:
        raise DataError(f"its header says {channels} channels at {rate} Hz")
    return WavFormat(codec, channels, rate, bits)


def read_samples(file: BinaryIO, header: WavHeader) -> np.ndarray:
    """samples_NC from −1 to 1."""
    file.seek(header.start)
    data = file.read(header.frames * header.format.frame_bytes)
    return to_numbers(data, header.format).reshape(-1, header.format.channels)


def to_numbers(data: bytes, layout: WavFormat) -> np.ndarray:
    """Integers are divided by what the largest of them would nearly be; those of 8 bits have 128 in the middle."""
    if layout.codec == FLOAT:
        return np.frombuffer(data, f"<f{layout.bits // 8}").astype(np.float32)
    if layout.bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    if layout.bits == 24:  # as the upper three bytes of four
        wide_N4 = np.zeros((len(data) // 3, 4), np.uint8)
        wide_N4[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return wide_N4.view("<i4")[:, 0].astype(np.float32) / 2**31
    return np.frombuffer(data, f"<i{layout.bits // 8}").astype(np.float32) / 2 ** (layout.bits - 1)


def wav_bytes(samples_N: np.ndarray, rate: int) -> bytes:
    """A file of one channel in 16 bits; what is louder than 1 is cut off."""
    data = np.round(np.clip(samples_N, -1, 1) * (2**15 - 1)).astype("<i2").tobytes()
    layout = struct.pack("<4sIHHIIHH", b"fmt ", FORMAT_BYTES, PCM, 1, rate, 2 * rate, 2, 16)
    body = b"WAVE" + layout + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body
