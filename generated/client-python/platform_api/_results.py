"""What methods return besides plain objects: pages, events, answers and downloads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Generic,
    Iterator,
    Mapping,
    Optional,
    TypeVar,
    Union,
)

import httpx

T = TypeVar("T")
Body = TypeVar("Body")
Final = TypeVar("Final")


class Object(dict[str, Any]):
    """A JSON object that remembers its response."""

    response: httpx.Response

    @staticmethod
    def of(data: dict[str, Any], response: httpx.Response) -> Object:
        """The data with its response."""
        result = Object(data)
        result.response = response
        return result


def response_of(data: Mapping[str, Any]) -> httpx.Response:
    """The response that a method's result came with, for its status and headers."""
    return data.response  # type: ignore[attr-defined, no-any-return]


def etag_of(data: Mapping[str, Any]) -> str:
    """The ETag of a result, for ``if_match``."""
    return response_of(data).headers["etag"]


@dataclass(frozen=True)
class Event(Generic[T]):
    """An event of a stream. ``id`` is the ``last_event_id`` to resume after it."""

    event: str
    id: Optional[str]
    data: T


class Page(Generic[T, Body]):
    """A page of a list. Iterating yields the items of this page and of all pages after it."""

    def __init__(self, body: Body, items: str, pages: Callable[[Body], Iterator[Body]]) -> None:
        #: The whole body of the response.
        self.body = body
        self._items, self._pages = items, pages

    @property
    def data(self) -> list[T]:
        """The items of this page."""
        return self.body[self._items]  # type: ignore[index, no-any-return]

    def pages(self) -> Iterator[Body]:
        """This page and all pages after it. A page is requested when the previous one has been read."""
        return self._pages(self.body)

    def __iter__(self) -> Iterator[T]:
        for body in self._pages(self.body):
            yield from body[self._items]  # type: ignore[index]


class AsyncPage(Generic[T, Body]):
    """A list. Awaiting it loads the first page; ``async for`` yields the items of all pages."""

    #: The whole body of the response, after it was awaited.
    body: Body

    def __init__(
        self,
        first: Callable[[], Awaitable[Body]],
        items: str,
        pages: Callable[[Optional[Body]], AsyncIterator[Body]],
    ) -> None:
        self._first, self._items, self._pages = first, items, pages
        self._known: Optional[Body] = None

    async def _load(self) -> AsyncPage[T, Body]:
        self.body = self._known = await self._first()
        return self

    def __await__(self) -> Generator[Any, None, AsyncPage[T, Body]]:
        return self._load().__await__()

    @property
    def data(self) -> list[T]:
        """The items of the first page, after it was awaited."""
        return self.body[self._items]  # type: ignore[index, no-any-return]

    def pages(self) -> AsyncIterator[Body]:
        """This page and all pages after it. A page is requested when the previous one has been read."""
        return self._pages(self._known)

    async def __aiter__(self) -> AsyncIterator[T]:
        async for body in self._pages(self._known):
            for item in body[self._items]:  # type: ignore[index]
                yield item


class EventStream(Generic[T]):
    """The events of a stream. The request is sent with the first event; ``close`` closes the connection."""

    def __init__(self, events: Generator[Event[T], None, None]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[Event[T]]:
        return self

    def __next__(self) -> Event[T]:
        return next(self._events)

    def close(self) -> None:
        """Closes the connection."""
        self._events.close()

    def __enter__(self) -> EventStream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AnswerStream(EventStream[T], Generic[T, Final]):
    """The events of an answer."""

    def __init__(self, events: Any, state: Any, delta: str) -> None:
        super().__init__(events)
        self._state, self._delta = state, delta

    def deltas(self) -> Iterator[str]:
        """The pieces of the text, as they arrive."""
        for event in self:
            if event.event == self._delta:
                yield event.data["delta"]  # type: ignore[index]
        self._require_success()

    def text(self) -> str:
        """The whole text. Reads the events that are left."""
        for _ in self:
            pass
        self._require_success()
        return str(self._state.text)

    def final(self) -> Final:
        """The whole answer. Reads the events that are left. Raises StreamError if the answer failed."""
        self.text()
        final: Final = self._state.final
        return final

    def _require_success(self) -> None:
        if self._state.failure is not None:
            raise self._state.failure


class AsyncEventStream(Generic[T]):
    """The events of a stream. The request is sent with the first event; ``close`` closes the connection."""

    def __init__(self, events: Any) -> None:
        self._events = events

    def __aiter__(self) -> AsyncIterator[Event[T]]:
        return self

    async def __anext__(self) -> Event[T]:
        event: Event[T] = await self._events.__anext__()
        return event

    async def close(self) -> None:
        """Closes the connection."""
        await self._events.aclose()

    async def __aenter__(self) -> AsyncEventStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncAnswerStream(AsyncEventStream[T], Generic[T, Final]):
    """The events of an answer."""

    def __init__(self, events: Any, state: Any, delta: str) -> None:
        super().__init__(events)
        self._state, self._delta = state, delta

    async def deltas(self) -> AsyncIterator[str]:
        """The pieces of the text, as they arrive."""
        async for event in self:
            if event.event == self._delta:
                yield event.data["delta"]  # type: ignore[index]
        self._require_success()

    async def text(self) -> str:
        """The whole text. Reads the events that are left."""
        async for _ in self:
            pass
        self._require_success()
        return str(self._state.text)

    async def final(self) -> Final:
        """The whole answer. Reads the events that are left. Raises StreamError if the answer failed."""
        await self.text()
        final: Final = self._state.final
        return final

    def _require_success(self) -> None:
        if self._state.failure is not None:
            raise self._state.failure


class Download:
    """The content of a file, which is read when it is asked for. Close it, or use ``with``."""

    def __init__(self, response: httpx.Response, chunks: Iterator[bytes]) -> None:
        self.response = response
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def read(self) -> bytes:
        """The whole content."""
        return b"".join(self._chunks)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the content to a file."""
        with Path(path).open("wb") as file:
            for chunk in self._chunks:
                file.write(chunk)

    def close(self) -> None:
        """Closes the connection."""
        self.response.close()

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncDownload:
    """The content of a file, which is read when it is asked for. Close it, or use ``async with``."""

    def __init__(self, response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
        self.response = response
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def read(self) -> bytes:
        """The whole content."""
        return b"".join([chunk async for chunk in self._chunks])

    async def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the content to a file."""
        with Path(path).open("wb") as file:
            async for chunk in self._chunks:
                file.write(chunk)

    async def close(self) -> None:
        """Closes the connection."""
        await self.response.aclose()

    async def __aenter__(self) -> AsyncDownload:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
