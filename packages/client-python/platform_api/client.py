"""The client with blocking calls. ``client.pyi`` has the types of its methods."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Generator, Iterator, Optional, Union

import httpx

from . import _files, _protocol as protocol
from ._operations import OPERATIONS
from ._resources import resource
from ._results import AnswerStream, Download, EventStream, Page
from .errors import NetworkError


class Client:
    """One method per operation, by resource. A client may be used by several threads."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        headers: Optional[dict[str, str]] = None,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        self._settings = protocol.settings_of(
            base_url or os.environ.get("PLATFORM_BASE_URL"),
            api_key if api_key is not None else os.environ.get("PLATFORM_API_KEY") or None,
            timeout=timeout,
            retries=retries,
            headers=headers or {},
        )
        self._http = http_client or httpx.Client()

    def __getattr__(self, name: str) -> Any:
        return resource(self, name)

    def with_options(self, **options: Any) -> Client:
        """A client with other ``timeout``, ``retries`` or ``headers``, and the same connections."""
        client: Client = object.__new__(Client)
        client._settings, client._http = replace(self._settings, **options), self._http
        return client

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[dict[str, Any]] = None,
        json: Optional[dict[str, Any]] = None,
        headers: Optional[dict[str, str]] = None,
    ) -> httpx.Response:
        """Sends any request, such as ``client.request("GET", "/v1/projects")``."""
        return self._run(protocol.request_steps(self._settings, method, path, query, json, headers))

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, name: str, args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
        row, settings = OPERATIONS[name], self._settings
        request = protocol.request_of(name, args, fields)
        if "answers" in row:
            state = protocol.AnswerState()
            steps = protocol.answer(settings, request, state)
            return AnswerStream(self._iterate(steps), state, row["answers"]["delta"])
        if row.get("answer") == "events":
            return EventStream(self._iterate(protocol.events(settings, request)))
        result = self._run(protocol.call(settings, request))
        if row.get("answer") == "bytes":
            return Download(result, _chunks(result))
        if "list" not in row:
            return result
        more = lambda body: self._iterate(protocol.pages(settings, request, body))  # noqa: E731
        return Page(result, row["list"]["items"], more)

    def _upload(self, content: Any, options: dict[str, Any]) -> Any:
        return self._run(protocol.upload_steps(self._settings, content, options))

    def _run(self, steps: protocol.Steps) -> Any:
        """Carries out the effects. Returns the result."""
        value: Any = None
        error: Optional[Exception] = None
        while True:
            try:
                effect = steps.throw(error) if error is not None else steps.send(value)
            except StopIteration as end:
                return end.value
            value, error = self._attempt(effect)

    def _iterate(self, steps: protocol.Steps) -> Generator[Any, None, None]:
        """Carries out the effects and yields the items."""
        value: Any = None
        error: Optional[Exception] = None
        response: Optional[httpx.Response] = None
        try:
            while True:
                try:
                    effect = steps.throw(error) if error is not None else steps.send(value)
                except StopIteration:
                    return
                if isinstance(effect, protocol.Emit):
                    value = error = None
                    yield effect.item
                    continue
                value, error = self._attempt(effect)
                if isinstance(value, httpx.Response):
                    response = value
        finally:
            steps.close()
            if response is not None:
                response.close()

    def _attempt(self, effect: Any) -> tuple[Any, Optional[Exception]]:
        try:
            return self._perform(effect), None
        except Exception as error:
            return None, error

    def _perform(self, effect: Any) -> Any:
        if isinstance(effect, protocol.Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, protocol.Close):
            return effect.response.close()
        if isinstance(effect, protocol.Read):
            return next(_raw(effect.response), None)
        request = self._http.build_request(
            effect.method, effect.url, headers=effect.headers, timeout=httpx.Timeout(effect.timeout)
        )
        if effect.body is not None:
            request.stream = effect.body
        response = self._http.send(request, stream=True, follow_redirects=effect.stream)
        if not effect.stream or not response.is_success:
            try:
                response.read()
            finally:
                response.close()
        return response


def _raw(response: httpx.Response) -> Iterator[bytes]:
    """The chunks of a response; each call continues where the last one stopped."""
    if "chunks" not in response.extensions:
        response.extensions["chunks"] = response.iter_bytes()
    return response.extensions["chunks"]  # type: ignore[no-any-return]


def _chunks(response: httpx.Response) -> Iterator[bytes]:
    try:
        yield from response.iter_bytes()
    except httpx.TransportError as error:
        raise NetworkError(f"The connection was lost during the download: {error!r}") from error
    finally:
        response.close()
