"""The client for asyncio. ``aio.pyi`` has the types of its methods."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any, AsyncGenerator, AsyncIterator, Optional

import httpx

from . import _protocol as protocol
from ._operations import OPERATIONS
from ._resources import resource
from ._results import AsyncAnswerStream, AsyncDownload, AsyncEventStream, AsyncPage
from .errors import NetworkError


class AsyncClient:
    """One method per operation, by resource, for asyncio."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        headers: Optional[dict[str, str]] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._settings = protocol.settings_of(
            base_url or os.environ.get("PLATFORM_BASE_URL"),
            api_key if api_key is not None else os.environ.get("PLATFORM_API_KEY") or None,
            timeout=timeout,
            retries=retries,
            headers=headers or {},
        )
        self._http = http_client or httpx.AsyncClient()

    def __getattr__(self, name: str) -> Any:
        return resource(self, name)

    def with_options(self, **options: Any) -> AsyncClient:
        """A client with other ``timeout``, ``retries`` or ``headers``, and the same connections."""
        client: AsyncClient = object.__new__(AsyncClient)
        client._settings, client._http = replace(self._settings, **options), self._http
        return client

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[dict[str, Any]] = None,
        json: Optional[dict[str, Any]] = None,
        headers: Optional[dict[str, str]] = None,
    ) -> httpx.Response:
        """Sends any request, such as ``await client.request("GET", "/v1/projects")``."""
        return await self._run(protocol.request_steps(self._settings, method, path, query, json, headers))

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _call(self, name: str, args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
        row, settings = OPERATIONS[name], self._settings
        request = protocol.request_of(name, args, fields)
        if "answers" in row:
            state = protocol.AnswerState()
            steps = protocol.answer(settings, request, state)
            return AsyncAnswerStream(self._iterate(steps), state, row["answers"]["delta"])
        if row.get("answer") == "events":
            return AsyncEventStream(self._iterate(protocol.events(settings, request)))
        if "list" in row:
            first = lambda: self._run(protocol.call(settings, request))  # noqa: E731
            more = lambda body: self._iterate(protocol.pages(settings, request, body))  # noqa: E731
            return AsyncPage(first, row["list"]["items"], more)
        if row.get("answer") == "bytes":
            return self._download(request)
        return self._run(protocol.call(settings, request))

    async def _download(self, request: protocol.Request) -> AsyncDownload:
        response = await self._run(protocol.call(self._settings, request))
        return AsyncDownload(response, _chunks(response))

    async def _upload(self, content: Any, options: dict[str, Any]) -> Any:
        return await self._run(protocol.upload_steps(self._settings, content, options))

    async def _run(self, steps: protocol.Steps) -> Any:
        """Carries out the effects. Returns the result."""
        value: Any = None
        error: Optional[Exception] = None
        while True:
            try:
                effect = steps.throw(error) if error is not None else steps.send(value)
            except StopIteration as end:
                return end.value
            value, error = await self._attempt(effect)

    async def _iterate(self, steps: protocol.Steps) -> AsyncGenerator[Any, None]:
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
                value, error = await self._attempt(effect)
                if isinstance(value, httpx.Response):
                    response = value
        finally:
            steps.close()
            if response is not None:
                await response.aclose()

    async def _attempt(self, effect: Any) -> tuple[Any, Optional[Exception]]:
        try:
            return await self._perform(effect), None
        except Exception as error:
            return None, error

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, protocol.Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, protocol.Close):
            return await effect.response.aclose()
        if isinstance(effect, protocol.Read):
            return await anext(_raw(effect.response), None)
        request = self._http.build_request(
            effect.method, effect.url, headers=effect.headers, timeout=httpx.Timeout(effect.timeout)
        )
        if effect.body is not None:
            request.stream = effect.body
        response = await self._http.send(request, stream=True, follow_redirects=effect.stream)
        if not effect.stream or not response.is_success:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response


def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    """The chunks of a response; each call continues where the last one stopped."""
    if "chunks" not in response.extensions:
        response.extensions["chunks"] = response.aiter_bytes()
    return response.extensions["chunks"]  # type: ignore[no-any-return]


async def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx.TransportError as error:
        raise NetworkError(f"The connection was lost during the download: {error!r}") from error
    finally:
        await response.aclose()
