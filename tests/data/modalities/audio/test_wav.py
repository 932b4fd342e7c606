"""WAV files of every kind that is read, and of those that are refused."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from regard.core.errors import DataError, OptionError
from regard.data.modalities.audio import decoding
from regard.data.modalities.audio.decoding import Truncated, is_silent, read_sound
from regard.data.modalities.audio.wav import EXTENSIBLE, FLOAT, PCM, wav_bytes

RATE = 11
STEREO_NC = np.array([[0.5, -0.25], [-1.0, 0.5], [0.0, 0.75]])
MONO_N = STEREO_NC.mean(axis=1)


def wav(codec: int, bits: int, data: bytes, channels: int = 2, tag: int = 0, extra: bytes = b"") -> bytes:
    """By hand, so that the reader is not checked against itself."""
    frame = channels * bits // 8
    layout = struct.pack("<HHIIHH", tag or codec, channels, RATE, RATE * frame, frame, bits)
    if tag == EXTENSIBLE:
        layout += struct.pack("<HHIH", 22, bits, 3, codec) + b"\x00" * 14
    chunks = b"fmt " + struct.pack("<I", len(layout)) + layout + extra + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def integers(bits: int) -> bytes:
    whole = np.round(STEREO_NC * 2 ** (bits - 1)).astype(np.int64)
    if bits == 8:
        return (whole + 128).astype(np.uint8).tobytes()
    return b"".join(int(one).to_bytes(bits // 8, "little", signed=True) for one in whole.ravel())


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
def test_whole_numbers_of_every_width(bits: int, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav(PCM, bits, integers(bits)))
    found = read_sound(tmp_path / "a.wav")
    assert found.rate == RATE
    np.testing.assert_allclose(found.samples_N, MONO_N, atol=2e-7)


@pytest.mark.parametrize("bits", [32, 64])
def test_floats(bits: int, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav(FLOAT, bits, STEREO_NC.astype(f"<f{bits // 8}").tobytes()))
    np.testing.assert_allclose(read_sound(tmp_path / "a.wav").samples_N, MONO_N)


def test_an_extensible_header_and_chunks_that_say_nothing(tmp_path: Path) -> None:
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\x00"  # a chunk of odd size is followed by a byte of nothing
    (tmp_path / "a.wav").write_bytes(wav(PCM, 16, integers(16), tag=EXTENSIBLE, extra=odd))
    np.testing.assert_allclose(read_sound(tmp_path / "a.wav").samples_N, MONO_N, atol=2e-7)


def test_what_is_written_is_read_also_by_others(tmp_path: Path) -> None:
    samples_N = np.array([0.0, 0.5, -1.0, 1.7], np.float32)
    data = wav_bytes(samples_N, 8000)
    (tmp_path / "a.wav").write_bytes(data)
    np.testing.assert_allclose(read_sound(tmp_path / "a.wav").samples_N, [0, 0.5, -1, 1], atol=1e-4)
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()) == (1, 2, 8000, 4)


def test_a_file_that_says_nothing_of_its_size_is_read_to_its_end(tmp_path: Path) -> None:
    whole = wav(PCM, 16, integers(16))
    streamed = whole.replace(b"data" + struct.pack("<I", 12), b"data\xff\xff\xff\xff")
    assert streamed != whole
    (tmp_path / "a.wav").write_bytes(streamed)
    assert len(read_sound(tmp_path / "a.wav").samples_N) == 3


def test_a_truncated_file_is_told_from_a_broken_one(tmp_path: Path) -> None:
    whole = wav(PCM, 16, integers(16))
    (tmp_path / "cut.wav").write_bytes(whole[:-7])
    with pytest.raises(Truncated, match=r"cut.wav is not a readable sound: it is truncated: 1 of 3 samples are there"):
        read_sound(tmp_path / "cut.wav")
    (tmp_path / "empty.wav").write_bytes(b"")
    with pytest.raises(Truncated, match="it is empty"):
        read_sound(tmp_path / "empty.wav")
    for length in (14, 30, 42):
        (tmp_path / "broken.wav").write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"broken.wav is not a readable sound: it breaks off"):
            read_sound(tmp_path / "broken.wav")
    with pytest.raises(DataError, match=r"no file .*none.wav"):
        read_sound(tmp_path / "none.wav")


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nan.wav").write_bytes(wav(FLOAT, 32, np.array([[0, np.nan]], "<f4").tobytes()))
    with pytest.raises(DataError, match="not finite numbers"):
        read_sound(tmp_path / "nan.wav")


def test_silence() -> None:
    assert is_silent(np.full(5, 9e-5, np.float32))
    assert not is_silent(np.array([0, -2e-4], np.float32))


def test_other_formats_need_a_package_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "a.flac", STEREO_NC, 8000)
    found = read_sound(tmp_path / "a.flac")
    assert found.rate == 8000
    np.testing.assert_allclose(found.samples_N, MONO_N, atol=1e-4)
    soundfile.write(tmp_path / "law.wav", STEREO_NC, 8000, subtype="ULAW")  # another way to code samples
    assert len(read_sound(tmp_path / "law.wav").samples_N) == 3
    (tmp_path / "text.ogg").write_text("no sound")
    with pytest.raises(DataError, match=r"text.ogg is not a readable sound: Format not recognised; replace"):
        read_sound(tmp_path / "text.ogg")

    def missing(module: str, told: str) -> None:
        raise OptionError(told)

    monkeypatch.setattr(decoding, "optional", missing)
    with pytest.raises(OptionError, match=r'a.flac is read with soundfile.*pip install "regard\[audio\]"'):
        read_sound(tmp_path / "a.flac")
