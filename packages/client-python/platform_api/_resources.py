"""The methods by resource, such as ``client.projects.members.add``."""

from __future__ import annotations

from typing import Any, Protocol

from ._operations import OPERATIONS
from .webhooks import verify_webhook


class Caller(Protocol):
    """What a client does with the name of a method and its arguments."""

    def _call(self, name: str, args: tuple[Any, ...], fields: dict[str, Any]) -> Any: ...

    def _upload(self, content: Any, options: dict[str, Any]) -> Any: ...


#: All names that have others below them.
GROUPS = {name[:i] for name in OPERATIONS for i, letter in enumerate(name) if letter == "."}


class Resource:
    """A group of methods. The operation of the same name, as ``ai.chat``, is a call of the group."""

    def __init__(self, client: Caller, name: str) -> None:
        self._client, self._name = client, name

    def __getattr__(self, part: str) -> Any:
        name = f"{self._name}.{part}"
        if name == "storage.files.resumable_upload":
            return lambda content, **options: self._client._upload(content, options)
        if name == "webhooks.verify":
            return verify_webhook
        if name in GROUPS:
            return Resource(self._client, name)
        if name in OPERATIONS:
            return Method(self._client, name)
        raise AttributeError(f"The client has no {name}.")

    def __call__(self, *args: Any, **fields: Any) -> Any:
        if self._name not in OPERATIONS:
            raise TypeError(f"{self._name} is not a method.")
        return self._client._call(self._name, args, fields)

    def __dir__(self) -> list[str]:
        start = self._name + "."
        return sorted({name[len(start) :].split(".")[0] for name in OPERATIONS if name.startswith(start)})

    def __repr__(self) -> str:
        return f"<client.{self._name}>"


class Method:
    """A method of a resource."""

    def __init__(self, client: Caller, name: str) -> None:
        self._client, self._name = client, name

    def __call__(self, *args: Any, **fields: Any) -> Any:
        return self._client._call(self._name, args, fields)

    def __repr__(self) -> str:
        return f"<client.{self._name}()>"


def resource(client: Caller, name: str) -> Any:
    """The resource or method of the top level. Raises AttributeError if there is none."""
    if name in OPERATIONS and name not in GROUPS:
        return Method(client, name)
    if name not in GROUPS:
        raise AttributeError(f"The client has no {name}.")
    return Resource(client, name)
