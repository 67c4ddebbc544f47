"""The files that uploads accept, and the encoding of a body."""

from __future__ import annotations

import io
import json
import mimetypes
import os
import secrets
import urllib.parse
from pathlib import Path
from typing import Any, AsyncIterator, BinaryIO, Callable, Iterator, NamedTuple, Optional, Union

import httpx

CHUNK = 65536


class File(NamedTuple):
    """A content with a name and a media type."""

    content: Union[bytes, BinaryIO]
    name: str = "file"
    type: Optional[str] = None


#: A path, bytes, an open binary file, or a File with a name and a media type.
FileInput = Union[Path, bytes, BinaryIO, File]


class Source:
    """A part of a body that can be read again from its start, if it is seekable."""

    def __init__(self, given: Any) -> None:
        content, self.name, self.type = given, "file", None
        if isinstance(given, File):
            content, self.name, self.type = given
        elif isinstance(given, (str, Path)):
            self.name = os.path.basename(given)
        elif isinstance(getattr(given, "name", None), str):
            self.name = os.path.basename(given.name)
        self.type = self.type or mimetypes.guess_type(self.name)[0]
        self.path = Path(content) if isinstance(content, (str, Path)) else None
        self.file = io.BytesIO(content) if isinstance(content, (bytes, bytearray, memoryview)) else content
        self.start = 0
        self.size: Optional[int] = None
        self.repeatable = True
        if self.path is not None:
            self.size = self.path.stat().st_size
        elif hasattr(self.file, "seekable") and self.file.seekable():
            self.start = self.file.tell()
            self.size = self.file.seek(0, os.SEEK_END) - self.start
        else:
            self.repeatable = False

    def read(self, start: int = 0, size: Optional[int] = None) -> Iterator[bytes]:
        """The bytes from ``start``, at most ``size`` of them."""
        if self.path is None:
            if self.repeatable:
                self.file.seek(self.start + start)
            yield from _chunks(self.file, size)
        else:
            with open(self.path, "rb") as file:
                file.seek(start)
                yield from _chunks(file, size)


def _chunks(file: BinaryIO, size: Optional[int]) -> Iterator[bytes]:
    while size is None or size > 0:
        chunk = file.read(CHUNK if size is None else min(CHUNK, size))
        if not chunk:
            return
        if size is not None:
            size -= len(chunk)
        yield chunk


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The parts of a body. Sources are read while they are sent."""

    def __init__(self, type: str, parts: list[Any], progress: Optional[Callable[[int], None]] = None) -> None:
        self.type, self.parts, self.progress = type, parts, progress
        sources = [part for part in parts if isinstance(part, Slice)]
        #: None if a source has no known size.
        self.length: Optional[int] = None
        if all(part.size is not None for part in sources):
            self.length = sum((part.size or 0) if isinstance(part, Slice) else len(part) for part in parts)
        self.repeatable = all(part.source.repeatable for part in sources)

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for part in self.parts:
            for chunk in [part] if isinstance(part, bytes) else part.source.read(part.start, part.size):
                yield chunk
                if self.progress is not None and not isinstance(part, bytes):
                    sent += len(chunk)
                    self.progress(sent)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


class Slice(NamedTuple):
    """A range of a source."""

    source: Source
    start: int = 0
    size: Optional[int] = None


def is_file(value: Any) -> bool:
    """Whether a field of a form is a file."""
    return isinstance(value, (Path, bytes, bytearray, memoryview, File)) or hasattr(value, "read")


def bytes_body(type: str, given: Any) -> Body:
    """A body of raw bytes."""
    source = Source(given)
    return Body(type, [Slice(source, 0, source.size)])


def encode_body(media: list[str], fields: dict[str, Any]) -> Body:
    """A form if a field is a file, otherwise the first media type, which is JSON if there is any."""
    forms = [each for each in media if each.startswith("multipart/")]
    has_file = any(is_file(each) for value in fields.values() for each in _listed(value))
    type = forms[0] if forms and (has_file or len(media) == 1) else media[0]
    if type.startswith("multipart/"):
        return _form(type, fields)
    if type == "application/x-www-form-urlencoded":
        pairs = [(name, _text(each)) for name, value in fields.items() for each in _listed(value)]
        return Body(type, [urllib.parse.urlencode(pairs).encode()])
    return Body(type, [json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()])


def _form(type: str, fields: dict[str, Any]) -> Body:
    """Fields come before files. None is left out, a list is a repeated field, and an object is JSON."""
    boundary = secrets.token_hex(16)
    parts: list[Any] = []
    pairs = [(name, each) for name, value in fields.items() for each in _listed(value)]
    for name, value in sorted(pairs, key=lambda pair: is_file(pair[1])):
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_escaped(name)}"'
        if not is_file(value):
            json_type = "\r\nContent-Type: application/json" if isinstance(value, dict) else ""
            parts.append(f"{head}{json_type}\r\n\r\n{_text(value)}\r\n".encode())
            continue
        source = Source(value)
        media = source.type or "application/octet-stream"
        parts.append(f'{head}; filename="{_escaped(source.name)}"\r\nContent-Type: {media}\r\n\r\n'.encode())
        parts.append(Slice(source, 0, source.size))
        parts.append(b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return Body(f"{type}; boundary={boundary}", parts)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escaped(text: str) -> str:
    return text.replace("\r\n", "%0D%0A").replace("\r", "%0D%0A").replace("\n", "%0D%0A").replace('"', "%22")
