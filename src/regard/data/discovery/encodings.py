"""Is a file UTF-8 text? If not, what it seems to be, and how to convert it."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import DataError
from regard.data.readers import BYTE_ORDER_MARK, COMPRESSIONS, byte_blocks

MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}  # fmt: skip
AS_LINES = "write it as JSON lines, e.g. with pandas: to_json(path, orient='records', lines=True)"
OTHER_FORMATS = {
    ".xlsx": "a workbook; save its sheet as CSV in UTF-8",
    ".xls": "a workbook; save its sheet as CSV in UTF-8",
    ".ods": "a workbook; save its sheet as CSV in UTF-8",
    ".parquet": f"a Parquet table; {AS_LINES}",
    ".arrow": f"an Arrow table; {AS_LINES}",
    ".docx": "a document of a word processor; save it as plain text in UTF-8",
    ".pdf": "a PDF; take its text out first, e.g. with pdftotext",
    ".zip": "an archive; unpack it and name the folder",
    ".tar": "an archive; unpack it and name the folder",
    ".tgz": "an archive; unpack it and name the folder",
}
"""What people have and nothing here reads, by ending."""
CONTROLS = frozenset(range(1, 32)) - frozenset(b"\t\n\x0b\x0c\r\x1b")
NUL_SHARE = 0.05  # of bytes; with more of them, a file is not damaged but something else
FOREIGN_SHARE = 0.3  # of bytes above 127; letters with accents among others are fewer


class TextFile(NamedTuple):
    """What a file of text in UTF-8 holds."""

    lines: int
    characters: int
    bytes: int


def check_text(path: Path) -> TextFile:
    """Reads all of a file once, block by block; refuses what is no text in UTF-8, in words, and an empty file."""
    other = next((told for ending, told in OTHER_FORMATS.items() if path.name.lower().endswith(ending)), "")
    if other:
        raise DataError(f"{path} is {other}")
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = characters = size = 0
    last, head = b"", b""
    for block in byte_blocks(path):
        head = head or block
        _check_mark(path, head)
        if b"\0" in block:
            raise _no_text(path, block, size, lines)
        try:
            characters += len(decoder.decode(block))
        except UnicodeDecodeError:
            raise _other_encoding(path, block) from None
        size += len(block)
        lines += block.count(b"\n")
        last = block[-1:]
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise DataError(f"{path} ends in the middle of a character; download or write it again") from None
    if not characters - head.startswith(BYTE_ORDER_MARK):
        raise DataError(f"{path} is empty; name a file with something in it")
    return TextFile(lines + (last != b"\n"), characters - head.startswith(BYTE_ORDER_MARK), size)


def _check_mark(path: Path, head: bytes) -> None:
    found = next((name for mark, name in MARKS.items() if head.startswith(mark)), "")
    if found:
        raise DataError(f"{path} is in {found}, and only UTF-8 is read here. {_convert(path, found)}")


def _no_text(path: Path, block: bytes, before: int, lines: int) -> DataError:
    even, odd = block[::2].count(0), block[1::2].count(0)
    if len(block) > 3 and max(even, odd) > 0.2 * len(block) > 5 * min(even, odd):
        found = "UTF-16BE" if even > odd else "UTF-16LE"
        return DataError(f"{path} seems to be in {found}, and only UTF-8 is read here. {_convert(path, found)}")
    if _is_binary(block) or block.count(0) > NUL_SHARE * len(block):
        return DataError(f"{path} is a binary file, not text; name a text file, a table, or a folder of pictures")
    place = block.index(0)
    line = lines + block.count(b"\n", 0, place) + 1
    return DataError(
        f"{path} has a NUL byte in line {line:,} (byte {before + place:,}), which no text has; the file is damaged, or "
        f"was written by a broken program. Take such bytes out, e.g. with: tr -d '\\000' < {path.name} > {_named(path)}"
    )


def _other_encoding(path: Path, block: bytes) -> DataError:
    if _is_binary(block):
        return DataError(f"{path} is a binary file, not text; name a text file, a table, or a folder of pictures")
    if sum(byte > 127 for byte in block) > FOREIGN_SHARE * len(block):
        return DataError(
            f"{path} is not in UTF-8; its letters are in an older encoding, such as Windows-1251, GB18030, Shift_JIS "
            f"or EUC-KR. {_convert(path, 'GB18030')} (with the name of the right one)"
        )
    found = "Windows-1252" if any(0x80 <= byte < 0xA0 for byte in block) else "ISO-8859-1"
    also = " (Latin-1)" if found == "ISO-8859-1" else ""
    return DataError(f"{path} is not in UTF-8; it seems to be in {found}{also}. {_convert(path, found)}")


def _is_binary(block: bytes) -> bool:
    return sum(byte in CONTROLS for byte in block) > max(1, len(block) // 100)


def _convert(path: Path, encoding: str) -> str:
    first = f"gunzip {path.name}, then " if path.suffix in COMPRESSIONS else ""
    name = path.name.removesuffix(path.suffix) if first else path.name
    return f"Convert it with: {first}iconv -f {encoding.upper()} -t UTF-8 {name} > {_named(Path(name))}"


def _named(path: Path) -> str:
    """The name of the converted file."""
    return f"{path.stem}.utf8{path.suffix}"
