"""The quickstart, an upload with cut connections, a streamed chat and webhooks, against a server."""

from __future__ import annotations

import asyncio
import hashlib
import http.server
import io
import os
import queue
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import cases
from cases import equal, raises
from platform_api import (
    AsyncClient,
    Client,
    NotFoundError,
    PreconditionFailedError,
    ValidationError,
    WebhookVerificationError,
    etag_of,
    response_of,
    verify_webhook,
)

client = Client()
#: The same server behind a proxy that cuts some connections.
cut = Client(os.environ["PROXY_URL"])
data = os.urandom(3_000_000)


def case_quickstart() -> None:
    """the quickstart: create, read, list, fail, and read the events"""
    project = client.projects.create(name="Launch", tags=["q4"])
    equal(response_of(project).status_code, 201)
    project = client.projects.update(project["id"], description="The new website", if_match=etag_of(project))
    equal((project["version"], project["description"]), (2, "The new website"))
    raises(PreconditionFailedError, lambda: client.projects.update(project["id"], name="x", if_match='"0"'))
    for i in range(4):
        client.projects.create(name=f"More {i}", tags=["q4"])
    names = [each["name"] for each in client.projects.list(tag="q4", sort="name", order="asc", limit=2)]
    equal(names, ["Launch", "More 0", "More 1", "More 2", "More 3"])
    error = raises(ValidationError, lambda: client.projects.create(name="", colour="red"))
    equal((error.code, error.details["field"], error.request_id[:4]), ("INVALID_REQUEST", "colour", "req_"))
    raises(NotFoundError, lambda: client.projects.get("prj_01jd6y8m5qe8btc4y5w1r0n3fz"))
    equal([each["role"] for each in client.projects.members.list(project["id"])], ["owner"])
    events = client.events.list(type="project.created").data
    equal(len(events), 5)
    equal(client.projects.delete(project["id"]), None)
    equal(client.request("GET", "/v1/projects", query={"limit": 1}).json()["pagination"]["total"], 4)


def case_events() -> None:
    """the event stream is read from its start"""
    with client.events.stream(last_event_id="start") as events:
        equal(next(events).data["type"], "project.created")


def case_upload() -> None:
    """a form upload through cut connections creates one file"""
    file = cut.storage.files.upload(
        file=data, name="report.bin", path="from/python", tags=["a"], metadata={"k": "v"}
    )
    equal((file["name"], file["sha256"]), ("report.bin", hashlib.sha256(data).hexdigest()))
    equal((file["tags"], file["metadata"], file["path"]), (["a"], {"k": "v"}, "from/python"))
    with client.storage.files.download(file["id"]) as download:
        equal(download.read() == data, True)
    with client.storage.files.download(file["id"], range="bytes=1-3") as part:
        equal(part.read(), data[1:4])
    with tempfile.TemporaryDirectory() as folder:
        client.storage.files.download(file["id"]).save(Path(folder, "copy.bin"))
        equal(Path(folder, "copy.bin").read_bytes() == data, True)


def case_resumable() -> None:
    """a resumable upload continues after cut connections, and in a later run"""
    ids: list[str] = []
    progress: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "film é.bin")
        path.write_bytes(data)
        upload = cut.storage.files.resumable_upload(
            path,
            visibility="private",
            on_created=ids.append,
            on_progress=lambda sent, total: progress.append(sent),
        )
        file = client.storage.files.get(upload["file_id"])
        equal((file["name"], file["sha256"]), ("film é.bin", hashlib.sha256(data).hexdigest()))
        equal((ids, progress == sorted(progress), progress[-1]), ([upload["id"]], True, len(data)))

        def stop(sent: int, total: int) -> None:
            if sent >= 1_500_000:
                raise KeyboardInterrupt

        started: list[str] = []
        options: Any = {"piece_size": 1_000_000, "on_created": started.append}
        raises(
            KeyboardInterrupt,
            lambda: client.storage.files.resumable_upload(path, on_progress=stop, **options),
        )
        sent: list[int] = []
        again = client.storage.files.resumable_upload(
            path, upload_id=started[0], on_progress=lambda done, total: sent.append(done)
        )
        equal(sent[0] >= 1_000_000, True)
        equal(client.storage.files.get(again["file_id"])["sha256"], hashlib.sha256(data).hexdigest())


def case_chat() -> None:
    """a chat over a document is streamed"""
    base = client.ai.knowledge.create(name="Handbook")
    text = b"# Leave\n\nEveryone has 30 days of paid leave a year. Requests go to the team lead.\n"
    source = io.BytesIO(text)
    document = client.ai.knowledge.documents.create(base["id"], file=source, name="leave.md")
    while document["status"] not in ("ready", "failed"):
        document = client.ai.knowledge.documents.get(base["id"], document["id"])
    question = "How many days of paid leave are there?"
    answer = client.ai.chat.stream(message=question, knowledge_base_ids=[base["id"]])
    pieces = list(answer.deltas())
    equal("30 days" in "".join(pieces), True)
    equal(answer.final()["message"]["content"], "".join(pieces))

    async def ask() -> str:
        async with AsyncClient() as own:
            return await own.ai.chat.stream(message=question, knowledge_base_ids=[base["id"]]).text()

    equal(asyncio.run(ask()), "".join(pieces))


def case_async_upload() -> None:
    """the client for asyncio uploads and downloads"""

    async def work() -> None:
        async with AsyncClient() as own:
            file = await own.storage.files.upload(file=data, name="async.bin")
            upload = await own.storage.files.resumable_upload(data, name="tus.bin", piece_size=2_000_000)
            for id in (file["id"], upload["file_id"]):
                async with await own.storage.files.download(id) as download:
                    equal(await download.read() == data, True)
            names = [each["name"] async for each in own.storage.files.list(sort="name", order="asc", limit=1)]
            equal(names[0], "async.bin")

    asyncio.run(work())


def case_webhooks() -> None:
    """a webhook receiver verifies what the server sends"""
    received: queue.Queue[Any] = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = self.rfile.read(int(self.headers["content-length"]))
            try:
                received.put(verify_webhook(payload, self.headers, endpoint["secret"]))
                self.send_response(204)
            except WebhookVerificationError as error:
                received.put(error)
                self.send_response(400)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as site:
        url = f"http://127.0.0.1:{site.server_port}/"
        endpoint = client.webhooks.endpoints.create(url=url, event_types=["project.created"])
        threading.Thread(target=site.serve_forever, daemon=True).start()
        project = client.projects.create(name="Announced")
        event = received.get(timeout=30)
        equal((event["type"], event["data"]["object"]["id"]), ("project.created", project["id"]))
        site.shutdown()


with client, cut:
    cases.run(sys.modules[__name__])
