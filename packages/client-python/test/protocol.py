"""Retries, lists, streams, bodies and webhooks against scripted responses, without a server."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import httpx

import cases
from cases import equal, raises
from platform_api import (
    AsyncClient,
    Client,
    ConfigurationError,
    ConflictError,
    File,
    NetworkError,
    PreconditionFailedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
    ValidationError,
    WebhookVerificationError,
    etag_of,
    verify_webhook,
)
from platform_api._protocol import EventDecoder
from platform_api.errors import foreign

waits: list[float] = []
time.sleep = waits.append


async def _no_sleep(seconds: float) -> None:
    waits.append(seconds)


asyncio.sleep = _no_sleep  # type: ignore[assignment]

Step = Any


class Script(httpx.SyncByteStream):
    """A body of given chunks; an exception among them breaks the connection."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks, self.closed = chunks, False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def close(self) -> None:
        self.closed = True


class AsyncScript(httpx.AsyncByteStream):
    """The same for asyncio."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks, self.closed = chunks, False

    async def __aiter__(self) -> Any:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def aclose(self) -> None:
        self.closed = True


def scripted(*steps: Step, **options: Any) -> tuple[Client, list[httpx.Request]]:
    """A client whose requests get these responses or exceptions, one after the other."""
    left, seen = list(steps), []

    def handle(request: httpx.Request) -> httpx.Response:
        request._content = b"".join(request.stream)
        seen.append(request)
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    waits.clear()
    http = httpx.Client(transport=httpx.MockTransport(handle))
    return Client("http://api.test/v1/", "plat_live_x", http_client=http, **options), seen


def failed(status: int, headers: dict[str, str] = {}, **details: Any) -> httpx.Response:
    error = {"code": "SOME_CODE", "message": "It failed.", "details": details}
    return httpx.Response(status, headers={"x-request-id": "req_1", **headers}, json={"error": error})


def ok(data: Any = {"id": "prj_1"}, **headers: str) -> httpx.Response:
    return httpx.Response(200, json=data, headers=headers)


def stream(*chunks: Any) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Script(*chunks))


def sse(event: str, data: Any, id: int = 0) -> bytes:
    return f"id: {id}\nevent: {event}\ndata: {json.dumps(data)}\n\n".encode()


broken = httpx.ReadError("the connection was reset")


def case_retry() -> None:
    """a POST is repeated with one Idempotency-Key, and waits as Retry-After says"""
    date = email.utils.format_datetime(
        datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=60)
    )
    client, seen = scripted(
        failed(429, {"retry-after": "7"}), failed(503, {"retry-after": date}), broken, ok()
    )
    equal(client.projects.create(name="Launch", description=None)["id"], "prj_1")
    equal(len({request.headers["idempotency-key"] for request in seen}), 1)
    equal([json.loads(request.content) for request in seen], [{"name": "Launch", "description": None}] * 4)
    equal(seen[0].url, "http://api.test/v1/projects")
    equal(seen[0].headers["authorization"], "Bearer plat_live_x")
    equal(waits[0], 7.0)
    equal(55 < waits[1] <= 60, True)
    equal(0 <= waits[2] <= 2, True)


def case_no_retry() -> None:
    """what must not be repeated is not"""
    client, seen = scripted(failed(429, {"retry-after": "121"}))
    error = raises(RateLimitError, lambda: client.projects.get("prj_1"))
    equal((error.retry_after, error.status, error.request_id), (121.0, 429, "req_1"))
    client, seen = scripted(failed(502))
    raises(ServerError, lambda: client.projects.update("prj_1", name="x", if_match='"1"'))
    client, seen = scripted(broken)
    raises(NetworkError, lambda: client.projects.update("prj_1", name="x", if_match='"1"'))
    client, seen = scripted(broken)
    raises(NetworkError, lambda: client.auth.sessions.refresh(refresh_token="x"))
    equal("authorization" in seen[0].headers, False)
    client, seen = scripted(failed(503, {"x-should-retry": "false"}))
    raises(ServerError, lambda: client.projects.get("prj_1"))
    client, seen = scripted(failed(409))
    raises(ConflictError, lambda: client.projects.create(name="x"))
    client, seen = scripted(httpx.ReadTimeout("too slow"), retries=0)
    raises(RequestTimeoutError, lambda: client.projects.get("prj_1"))
    equal(waits, [])


def case_in_progress() -> None:
    """a request that is still running under the same key is asked for again"""
    client, seen = scripted(failed(409, constraint="in_progress"), ok())
    equal(client.projects.create(name="x", idempotency_key="mine")["id"], "prj_1")
    equal([request.headers["idempotency-key"] for request in seen], ["mine", "mine"])


def case_exhausted() -> None:
    """the last error is raised when the retries are used up"""
    client, seen = scripted(*[failed(503)] * 3, retries=2)
    error = raises(ServerError, lambda: client.projects.get("prj_1"))
    equal((len(seen), error.code, str(error), error.operation), (3, "SOME_CODE", "It failed.", "getProject"))
    client, seen = scripted(*[failed(503)] * 2)
    raises(ServerError, lambda: client.with_options(retries=1).projects.get("prj_1"))


def case_errors() -> None:
    """each status has its class, and a foreign response is no success"""
    client, _ = scripted(failed(412), failed(400, field="name"), httpx.Response(200, html="<p>Hello</p>"))
    raises(PreconditionFailedError, lambda: client.projects.update("prj_1", if_match='"1"'))
    equal(raises(ValidationError, lambda: client.projects.create()).details, {"field": "name"})
    error = raises(Exception, lambda: client.projects.get("prj_1"))
    equal("base_url" in str(error), True)
    signed = httpx.Response(403, text="<Error/>", request=httpx.Request("GET", "http://s3.test/x?sig=secret"))
    equal(foreign(signed), "403 (text/plain) from http://s3.test/x. Check `base_url`.")
    raises(ConfigurationError, lambda: Client("api.test", "x"))
    raises(ConfigurationError, lambda: Client("http://api.test", "a b"))
    os.environ.pop("PLATFORM_BASE_URL", None)
    raises(ConfigurationError, lambda: Client(api_key="x"))


def case_arguments() -> None:
    """a method takes its path by position and its fields by name"""
    client, seen = scripted(ok({"data": [], "pagination": {"has_more": False}}), ok(etag='"3"'))
    client.storage.files.list(tag=["a b", "c"], metadata={"ticket": "OPS/12"}, page=2, name=None)
    equal(str(seen[0].url.query, "ascii"), "tag=a+b&tag=c&metadata%5Bticket%5D=OPS%2F12&page=2")
    equal(etag_of(client.projects.get("a/b")), '"3"')
    equal(seen[1].url.raw_path, b"/v1/projects/a%2Fb")
    for call in (
        lambda: client.projects.get(),
        lambda: client.projects.get(""),
        lambda: client.projects.get(".."),
        lambda: client.projects.get("a", "b"),
    ):
        raises(TypeError, call)
    raises(AttributeError, lambda: client.projects.nothing)
    raises(AttributeError, lambda: client.nothing)
    equal({"create", "members"} <= set(dir(client.projects)), True)


def case_lists() -> None:
    """a page is requested when the previous one has been read; a cursor replaces the page"""

    def page(*names: str, cursor: Any = None) -> httpx.Response:
        pagination = {"next_cursor": cursor, "has_more": cursor is not None}
        return ok({"data": [{"name": name} for name in names], "pagination": pagination})

    client, seen = scripted(page("a", "b", cursor="c1"), page("c"), page("c"))
    found = client.projects.list(page=1, limit=2)
    equal([item["name"] for item in found.data], ["a", "b"])
    counts = [(item["name"], len(seen)) for item in found]
    equal(counts, [("a", 1), ("b", 1), ("c", 2)])
    equal(str(seen[1].url.query, "ascii"), "limit=2&cursor=c1")
    equal([len(body["data"]) for body in found.pages()], [2, 1])


def case_decoder() -> None:
    """events are the same however their bytes are cut"""
    first = 'retry: 20\r\n\r\n: hi\rid: 1\nevent: x\ndata: {"a":\ndata:"é"}\r\n\r\n'
    text = f"{first}data: plain\n\nid: 2\n\n".encode()
    for size in range(1, len(text)):
        decoder = EventDecoder()
        found = [event for i in range(0, len(text), size) for event in decoder.feed(text[i : i + size])]
        equal(
            [(event.event, event.id, event.data) for event in found],
            [("x", "1", {"a": "é"}), ("message", "1", "plain")],
        )
        equal((decoder.last_id, decoder.retry), ("2", 0.02))


def case_resume() -> None:
    """the event log resumes after the last event, as often as it makes progress"""
    client, seen = scripted(
        stream(b'id: 5\ndata: {"type":"a"}\n\nid: 6\nda', broken),
        broken,
        stream(b'id: 6\ndata: {"type":"b"}\n\n'),
        stream(b'id: 7\ndata: {"type":"c"}\n\n'),
    )
    found = []
    with client.events.stream(last_event_id="4") as events:
        for event in events:
            found.append((event.id, event.data["type"]))
            if len(found) == 3:
                break
    equal(found, [("5", "a"), ("6", "b"), ("7", "c")])
    equal([request.headers["last-event-id"] for request in seen], ["4", "5", "5", "6"])


def case_closed() -> None:
    """leaving a stream closes its connection"""
    body = Script(b"id: 1\ndata: 1\n\n", b"id: 2\ndata: 2\n\n")
    client, _ = scripted(httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body))
    events = client.events.stream()
    equal(next(events).data, 1)
    events.close()
    equal(body.closed, True)


def case_answer() -> None:
    """an answer whose connection breaks continues with another operation"""
    client, seen = scripted(
        stream(
            sse("message.created", {"id": "msg_1"}, id=1),
            sse("message.delta", {"delta": "Hel"}, id=2),
            broken,
        ),
        stream(sse("message.delta", {"delta": "lo"}, id=3) + sse("message.completed", {"done": True})),
    )
    answer = client.ai.chat.stream(message="Hi")
    equal("".join(answer.deltas()), "Hello")
    equal((answer.final(), answer.text()), ({"done": True}, "Hello"))
    equal((seen[1].url.path, seen[1].headers["last-event-id"]), ("/v1/ai/messages/msg_1/stream", "2"))
    error = {"code": "MODEL_FAILED", "message": "No.", "details": {"request_id": "req_9"}}
    client, _ = scripted(stream(f"event: error\ndata: {json.dumps({'error': error})}\n\n".encode()))
    failure = raises(StreamError, client.ai.chat.stream(message="Hi").final)
    equal((failure.code, failure.request_id), ("MODEL_FAILED", "req_9"))
    client, _ = scripted(stream(b"event: message.delta\n"))
    raises(NetworkError, client.ai.chat.stream(message="Hi").text)


def case_redirect() -> None:
    """a download follows a redirect to a store, without the key"""
    moved = httpx.Response(302, headers={"location": "http://store.test/file?signature=x"})
    client, seen = scripted(moved, httpx.Response(206, content=b"ytes"))
    with client.storage.files.download("file_1", range="bytes=1-") as download:
        equal(download.read(), b"ytes")
    equal((seen[1].url.host, seen[1].headers["range"]), ("store.test", "bytes=1-"))
    equal("authorization" in seen[1].headers, False)


def case_async() -> None:
    """the client for asyncio does the same"""
    left: list[Any] = [
        failed(503),
        ok({"data": [1], "pagination": {"has_more": True, "next_cursor": "c"}}),
        ok({"data": [2], "pagination": {"has_more": False}}),
        httpx.Response(
            200,
            headers={"content-type": "text/event-stream"},
            stream=AsyncScript(b'id: 1\nevent: message.created\ndata: {"id":"msg_1"}\n\n', broken),
        ),
        httpx.Response(
            200,
            headers={"content-type": "text/event-stream"},
            stream=AsyncScript(sse("message.delta", {"delta": "Hi"}), sse("message.completed", {"done": 1})),
        ),
        httpx.Response(200, content=b"bytes"),
    ]

    async def handle(request: httpx.Request) -> httpx.Response:
        return left.pop(0)

    async def work() -> None:
        async with AsyncClient(
            "http://api.test", "x", http_client=httpx.AsyncClient(transport=httpx.MockTransport(handle))
        ) as client:
            projects = client.projects.list()
            equal((await projects).data, [1])
            equal([item async for item in projects], [1, 2])
            answer = client.ai.chat.stream(message="Hi")
            equal([text async for text in answer.deltas()], ["Hi"])
            equal(await answer.final(), {"done": 1})
            async with await client.storage.files.download("file_1") as download:
                equal(await download.read(), b"bytes")

    asyncio.run(work())
    equal(left, [])


def case_forms() -> None:
    """a form has its fields before its files, and is sent again from the same position"""
    file = io.BytesIO(b"xxcontent")
    file.seek(2)
    client, seen = scripted(broken, ok(), ok(), broken)
    client.storage.files.upload(
        file=File(file, 'a"\n.txt', "text/plain"), tags=["a", "b"], metadata={"k": "v"}, name=None
    )
    first, second = (request.content.replace(_boundary(request), b"B") for request in seen)
    equal(first, second)
    equal(first.index(b"content\r\n") > first.index(b'{"k": "v"}'), True)
    equal(first.count(b'name="tags"'), 2)
    equal(b'filename="a%22%0D%0A.txt"\r\nContent-Type: text/plain' in first, True)
    equal(seen[0].headers["content-length"], str(len(seen[0].content)))
    client.storage.files.upload(file=Path(__file__))
    equal(b'filename="protocol.py"' in seen[2].content, True)

    class Pipe(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            return 0

    raises(NetworkError, lambda: client.storage.files.upload(file=Pipe()))
    equal(len(seen), 4)


def _boundary(request: httpx.Request) -> bytes:
    return request.headers["content-type"].split("boundary=")[1].encode()


def case_webhooks() -> None:
    """a webhook is verified with each secret of a rotation, and anything else is rejected"""
    given = json.loads(os.environ["WEBHOOK"])
    headers, secret, payload = given["headers"], given["secret"], given["payload"]
    equal(verify_webhook(payload, headers, secret)["id"], "evt_1")
    capitals = {name.upper(): value for name, value in headers.items()}
    equal(verify_webhook(payload.encode(), capitals, ["whsec_AAAA", secret])["id"], "evt_1")
    client, _ = scripted()
    equal(client.webhooks.verify(payload, headers, secret)["type"], "project.created")
    now = int(headers["webhook-timestamp"])
    for reason, call in {
        "No signature": lambda: verify_webhook(payload + " ", headers, secret),
        "No signature matches": lambda: verify_webhook(payload, headers, "whsec_AAAA"),
        "s old": lambda: verify_webhook(payload, headers, secret, now=now + 301),
        "future": lambda: verify_webhook(payload, headers, secret, now=now - 301),
        "no header webhook-id": lambda: verify_webhook(payload, {}, secret),
        "not a number": lambda: verify_webhook(payload, {**headers, "webhook-timestamp": "1e9"}, secret),
        "exact body": lambda: verify_webhook(json.loads(payload), headers, secret),
        "starts with": lambda: verify_webhook(payload, headers, "sk_1"),
        "is missing": lambda: verify_webhook(payload, headers),
    }.items():
        equal(reason in str(raises(WebhookVerificationError, call)), True)


cases.run(sys.modules[__name__])
