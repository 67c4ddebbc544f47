"""The protocol of the client without I/O.

Each function here is a generator that yields effects: a request to send, a pause, a chunk to read, an item
for the caller. ``client.py`` carries them out with blocking I/O and ``aio.py`` with asyncio, so that both
clients have the same retries, streams and uploads.
"""

from __future__ import annotations

import base64
import json
import random
import urllib.parse
import uuid
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Generator, NamedTuple, Optional

import httpx

from . import _files
from ._operations import BY_ID, OPERATIONS, USER_AGENT
from ._results import Event, Object
from .errors import (
    ApiError,
    ConfigurationError,
    NetworkError,
    PlatformError,
    RequestTimeoutError,
    StreamError,
    api_error,
    foreign,
    problem_of,
    seconds_to_wait,
    stream_error,
)

#: The server has not executed the request.
NOT_EXECUTED = {408, 429, 503}
#: A proxy does not know whether the server has executed the request.
MAYBE_EXECUTED = {502, 504}
#: The client does not wait longer than this for Retry-After.
MAX_WAIT = 120.0


class Send(NamedTuple):
    """Sends the request. ``stream`` leaves the body of a success unread, and follows redirects to a file."""

    method: str
    url: str
    headers: dict[str, str]
    body: Optional[_files.Body]
    timeout: float
    stream: bool


class Sleep(NamedTuple):
    """Waits for some seconds."""

    seconds: float


class Read(NamedTuple):
    """The next chunk of a streamed response; None at its end."""

    response: httpx.Response


class Close(NamedTuple):
    """Closes a streamed response."""

    response: httpx.Response


class Emit(NamedTuple):
    """Hands an item to the caller of an iterator."""

    item: Any


Steps = Generator[Any, Any, Any]


@dataclass(frozen=True)
class Settings:
    """The options of a client."""

    base_url: str
    api_key: Optional[str]
    timeout: float = 60.0
    retries: int = 3
    headers: dict[str, str] = field(default_factory=dict)


def settings_of(base_url: Optional[str], api_key: Optional[str], **options: Any) -> Settings:
    """Checks the URL and the key."""
    if not base_url:
        raise ConfigurationError(
            "The URL of the server is missing: set `base_url`, or the variable PLATFORM_BASE_URL."
        )
    url = urllib.parse.urlsplit(base_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigurationError(f"`base_url` must start with http:// or https://: {base_url}")
    # The message does not contain the key.
    if api_key is not None and (
        api_key == "" or not api_key.isascii() or not api_key.isprintable() or " " in api_key
    ):
        raise ConfigurationError("The API key is empty or has a character that no key has.")
    origin = base_url.rstrip("/")
    return Settings(origin[:-3] if origin.endswith("/v1") else origin, api_key, **options)


def perform(
    settings: Settings,
    method: str,
    path: str,
    *,
    operation: Optional[str] = None,
    headers: dict[str, str] = {},
    body: Optional[_files.Body] = None,
    stream: bool = False,
    public: bool = False,
    retries: Optional[int] = None,
) -> Steps:
    """Sends a request, with retries if a second attempt has no second effect. Returns a success."""
    name = operation or f"{method} {path.split('?')[0]}"
    sent = {"user-agent": USER_AGENT, **settings.headers}
    if settings.api_key is not None and not public:
        sent["authorization"] = f"Bearer {settings.api_key}"
    if body is not None:
        sent["content-type"] = body.type
        if body.length is not None:
            sent["content-length"] = str(body.length)
    sent.update({key.lower(): value for key, value in headers.items()})
    url = settings.base_url + path
    attempts = settings.retries if retries is None else retries
    for attempt in range(attempts + 1):
        failure: PlatformError
        wait: Optional[float]
        try:
            response = yield Send(method, url, sent, body, settings.timeout, stream)
        except httpx.TransportError as error:
            kind = RequestTimeoutError if isinstance(error, httpx.TimeoutException) else NetworkError
            failure = kind(f"{name} has no complete response from {settings.base_url}: {error!r}", name)
            failure.__cause__ = error
            wait = None if "if-match" in sent else back_off(attempt)
        else:
            if response.is_success or response.is_redirect or response.status_code == 304:
                return response
            failure = api_error(name, response)
            wait = _wait_after(sent, response, attempt)
        repeatable = method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE") or "idempotency-key" in sent
        if wait is None or attempt == attempts or not repeatable or not (body is None or body.repeatable):
            raise failure
        yield Sleep(wait)


def _wait_after(headers: dict[str, str], response: httpx.Response, attempt: int) -> Optional[float]:
    """Seconds until the next attempt; None if there is none."""
    status = response.status_code
    if response.headers.get("x-should-retry") == "false":
        return None
    if status in MAYBE_EXECUTED:
        # If the first attempt was executed, the ETag has changed, and a second one would fail with 412.
        return None if "if-match" in headers else back_off(attempt)
    if status == 409:
        details = problem_of(response).get("details") or {}
        running = "idempotency-key" in headers and details.get("constraint") == "in_progress"
        return back_off(attempt) if running else None
    if status not in NOT_EXECUTED:
        return None
    seconds = seconds_to_wait(response)
    if seconds is None:
        return back_off(attempt)
    return seconds if seconds <= MAX_WAIT else None


def back_off(failures: int) -> float:
    """Exponential backoff with full jitter: up to 0.5 s, doubled each time, at most 8 s."""
    return random.random() * min(8.0, 0.5 * float(2**failures))


class Request(NamedTuple):
    """A call of an operation with its encoded parameters."""

    name: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: Optional[_files.Body]


def request_of(name: str, args: tuple[Any, ...], fields: dict[str, Any]) -> Request:
    """Sorts the arguments of a method into the path, the query, the headers and the body."""
    row = OPERATIONS[name]
    method = f"{name}()"
    values = list(args)
    path = ""
    for i, part in enumerate(row["path"].split("{")):
        if i == 0:
            path = part
            continue
        parameter, rest = part.split("}", 1)
        value = str(values.pop(0)) if values else ""
        if value in ("", ".", ".."):
            raise TypeError(f"{method} requires the parameter {parameter} of the path.")
        path += urllib.parse.quote(value, safe="") + rest
    fields = dict(fields)
    headers: dict[str, str] = {}
    for header in row.get("headers", []):
        value = fields.pop(header.lower().replace("-", "_"), None)
        if value is not None:
            headers[header] = str(value)
    if "Idempotency-Key" in row.get("headers", []):
        # Created once per call, so that all attempts have the same key.
        headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
    body = None
    query: list[tuple[str, str]] = []
    media = row.get("body")
    if media is None:
        query = query_of(fields, row.get("deep", []))
    elif media[0].endswith("octet-stream"):
        if values:
            body = _files.bytes_body(media[0], values.pop(0))
        if fields:
            raise TypeError(f"{method} has no parameter {next(iter(fields))}.")
    elif fields or not row.get("optional"):
        body = _files.encode_body(media, fields)
    if values:
        raise TypeError(f"{method} has too many positional arguments: pass fields by name.")
    return Request(name, path, query, headers, body)


def query_of(fields: dict[str, Any], deep: list[str] = []) -> list[tuple[str, str]]:
    """The pairs of a query. A list is repeated; None is left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        if name in deep and isinstance(value, dict):
            pairs += [(f"{name}[{key}]", _text(each)) for key, each in value.items()]
        elif isinstance(value, (list, tuple)):
            pairs += [(name, _text(each)) for each in value]
        elif value is not None:
            pairs.append((name, _text(value)))
    return pairs


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def send(settings: Settings, request: Request, *, retries: Optional[int] = None) -> Steps:
    """Sends the request of an operation. Returns its response."""
    row = OPERATIONS[request.name]
    query = urllib.parse.urlencode(request.query)
    headers = dict(request.headers)
    answer = row.get("answer", "json")
    if answer == "events":
        headers["accept"] = "text/event-stream, application/json"
    elif "accept" in row:
        headers["accept"] = row["accept"]
    return (
        yield from perform(
            settings,
            row["method"],
            request.path + (f"?{query}" if query else ""),
            operation=row["id"],
            headers=headers,
            body=request.body,
            stream=answer in ("bytes", "events"),
            public=row.get("public", False),
            retries=retries,
        )
    )


def call(settings: Settings, request: Request) -> Steps:
    """Calls an operation. Returns its decoded body, or the response of a download."""
    row = OPERATIONS[request.name]
    response = yield from send(settings, request)
    answer = row.get("answer", "json")
    if answer in ("bytes", "events"):
        return response
    return decoded(row["id"], response)


def decoded(operation: str, response: httpx.Response) -> Any:
    """The body: objects of JSON, the text of another type, None if there is none."""
    if not response.content:
        return None
    kind = response.headers.get("content-type", "")
    if "json" not in kind:
        if kind.startswith("text/html"):
            raise ApiError(operation, response)
        return response.text
    try:
        data = response.json()
    except ValueError:
        raise ApiError(operation, response) from None
    return Object.of(data, response) if isinstance(data, dict) else data


def pages(settings: Settings, request: Request, first: Optional[dict[str, Any]] = None) -> Steps:
    """Emits the pages of a list, starting with ``first`` if it is known already."""
    shape = OPERATIONS[request.name]["list"]
    body = first
    while True:
        if body is None:
            body = yield from call(settings, request)
        yield Emit(body)
        cursor = next_cursor(shape, body)
        # A cursor replaces the number of the page.
        rest = [pair for pair in request.query if pair[0] not in (shape["parameter"], shape.get("page"))]
        if cursor is None or (shape["parameter"], cursor) in request.query:
            return
        request = request._replace(query=[*rest, (shape["parameter"], cursor)])
        body = None


def next_cursor(shape: dict[str, Any], body: dict[str, Any]) -> Optional[str]:
    """The cursor of the page after this one; None if it is the last one."""
    if "more" in shape and _at(body, shape["more"]) is not True:
        return None
    return _at(body, shape["from"]) or None


def _at(value: Any, way: list[str]) -> Any:
    for key in way:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def events(settings: Settings, request: Request, after: Optional[str] = None) -> Steps:
    """Emits the events of a stream. It resumes after a disconnect if the operation accepts Last-Event-ID."""
    row = OPERATIONS[request.name]
    ends, resumes = row.get("ends", []), row.get("resumes", False)
    decoder = EventDecoder(after)
    failures = 0
    while True:
        cause: Optional[Exception] = None
        if resumes and decoder.last_id is not None:
            request = request._replace(headers={**request.headers, "Last-Event-ID": decoder.last_id})
        try:
            response = yield from send(settings, request)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                yield Close(response)
                raise PlatformError(f"{row['id']} failed: {foreign(response)}", row["id"])
            decoder.restart()
            while True:
                chunk = yield Read(response)
                if chunk is None:
                    break
                failures = 0
                for event in decoder.feed(chunk):
                    yield Emit(event)
                    if event.event in ends:
                        yield Close(response)
                        return
            if not ends and not resumes:
                return
        except (httpx.TransportError, NetworkError) as error:
            cause = error
        if not resumes or failures >= settings.retries:
            raise NetworkError("The connection was lost before the stream ended.", row["id"]) from cause
        yield Sleep(back_off(failures) if decoder.retry is None else decoder.retry)
        failures += 1


class EventDecoder:
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

    def __init__(self, last_id: Optional[str] = None) -> None:
        self.last_id = last_id
        self.retry: Optional[float] = None
        self.restart()

    def restart(self) -> None:
        """Drops the incomplete event of a broken connection."""
        self._buffer, self._event = b"", ""
        self._data: list[str] = []
        self._id = self.last_id

    def feed(self, chunk: bytes) -> list[Event[Any]]:
        """The events that are complete with this chunk."""
        self._buffer += chunk
        # A CR at the end may be the first half of a CRLF.
        whole = self._buffer[:-1] if self._buffer.endswith(b"\r") else self._buffer
        lines = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._buffer = lines.pop() + self._buffer[len(whole) :]
        found = [self._line(line.decode("utf-8", "replace")) for line in lines]
        return [event for event in found if event is not None]

    def _line(self, line: str) -> Optional[Event[Any]]:
        if line == "":
            # Not before: an event whose end was lost is sent again.
            self.last_id = self._id
            name, data = self._event or "message", self._data
            self._event, self._data = "", []
            return Event(name, self.last_id, _json("\n".join(data))) if data else None
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value) / 1000
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass
class AnswerState:
    """What ``final()`` and ``text()`` return after the stream has ended."""

    text: str = ""
    final: Any = None
    failure: Optional[StreamError] = None


def answer(settings: Settings, request: Request, state: AnswerState) -> Steps:
    """Emits the events of an answer. After a disconnect, another operation streams its rest."""
    row = OPERATIONS[request.name]
    shape = row["answers"]
    id = last = None
    source = events(settings, request)
    value: Any = None
    error: Optional[Exception] = None
    while True:
        try:
            effect = source.throw(error) if error is not None else source.send(value)
        except StopIteration:
            return
        except NetworkError:
            if id is None or shape["resume"] not in BY_ID:
                raise
            source = events(settings, request_of(BY_ID[shape["resume"]], (id,), {}), last)
            id = value = error = None
            continue
        value = error = None
        if isinstance(effect, Emit):
            event = effect.item
            last = event.id
            if event.event == shape["start"]:
                id = event.data["id"]
            elif event.event == shape["delta"]:
                state.text += event.data["delta"]
            elif event.event == shape["final"]:
                state.final = event.data
            elif event.event == "error":
                state.failure = stream_error(row["id"], event.data)
        try:
            value = yield effect
        except Exception as caught:
            error = caught


def resumable_upload(
    settings: Settings,
    content: Any,
    fields: dict[str, Any],
    *,
    upload_id: Optional[str] = None,
    on_created: Optional[Callable[[str], None]] = None,
    on_progress: Optional[Callable[[int, int], None]] = None,
    piece_size: Optional[int] = None,
    retries: int = 10,
) -> Steps:
    """Uploads a file by tus 1.0.0. After a network error it asks for the offset and continues there."""
    source = _files.Source(content)
    if not source.repeatable or source.size is None:
        raise TypeError("A file that cannot seek cannot be uploaded resumably. Use `upload` or a path.")
    total = source.size
    version = {"tus_resumable": "1.0.0"}
    create, get, append = (BY_ID[id] for id in ("createUpload", "getUpload", "appendUpload"))
    reported = -1

    def report(sent: int) -> None:
        nonlocal reported
        if on_progress is not None and sent > reported:
            reported = sent
            on_progress(sent, total)

    offset: Optional[int] = None
    if upload_id is None:
        headers = {**version, "upload_length": total, "upload_metadata": _metadata(source, fields)}
        upload = yield from call(settings, request_of(create, (), headers))
        upload_id, offset = str(upload["id"]), 0
        if on_created is not None:
            on_created(upload_id)
    failures = 0
    while True:
        if offset is None:
            response = yield from send(settings, request_of(get, (upload_id,), version))
            offset = int(response.headers["upload-offset"])
        report(offset)
        if offset >= total:
            return (yield from call(settings, request_of(get, (upload_id,), {})))
        start, size = offset, total - offset if piece_size is None else min(piece_size, total - offset)
        request = request_of(append, (upload_id,), {**version, "upload_offset": start})
        media = OPERATIONS[append]["body"][0]
        part = _files.Slice(source, start, size)
        body = _files.Body(media, [part], lambda sent: report(min(start + sent, total - 1)))
        try:
            response = yield from send(settings, request._replace(body=body), retries=0)
            offset, failures = int(response.headers["upload-offset"]), 0
        except (NetworkError, ApiError) as error:
            temporary = error.status is None or error.status in {408, 409, 429, 502, 503, 504}
            if not temporary or failures >= retries:
                raise
            yield Sleep(back_off(failures) if error.retry_after is None else error.retry_after)
            response = yield from send(settings, request_of(get, (upload_id,), version))
            offset = int(response.headers["upload-offset"])
            failures = 0 if offset > start else failures + 1


def _metadata(source: _files.Source, fields: dict[str, Any]) -> str:
    """tus ``Upload-Metadata``: pairs of a key and a Base64 value."""
    known = {"filename": None if "name" in fields else source.name, "filetype": source.type, **fields}
    pairs = [(key, value) for key, value in known.items() if value is not None]
    return ",".join(
        f"{key} {base64.b64encode(_files._text(value).encode()).decode()}" for key, value in pairs
    )


def upload_steps(settings: Settings, content: Any, options: dict[str, Any]) -> Steps:
    """``resumable_upload`` with the fields of the file among its options."""
    names = ("upload_id", "on_created", "on_progress", "piece_size", "retries")
    own = {name: options[name] for name in names if name in options}
    fields = {name: value for name, value in options.items() if name not in names}
    return resumable_upload(settings, content, fields, **own)


def request_steps(
    settings: Settings,
    method: str,
    path: str,
    query: Optional[dict[str, Any]],
    json_body: Optional[dict[str, Any]],
    headers: Optional[dict[str, str]],
) -> Steps:
    """Any request with a JSON body."""
    if not path.startswith("/"):
        raise TypeError("The path must start with a slash.")
    pairs = urllib.parse.urlencode(query_of(query or {}))
    body = None if json_body is None else _files.encode_body(["application/json"], json_body)
    target = path + (f"?{pairs}" if pairs else "")
    return perform(settings, method.upper(), target, headers=headers or {}, body=body)
