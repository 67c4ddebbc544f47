"""What mypy knows of the calls of both clients: it is checked, never run. Each ignored error must occur."""

from __future__ import annotations

from typing import Optional, assert_type

from platform_api import AsyncClient, Client, Page
from platform_api import types as t

client = Client()

project = client.projects.create(name="Launch", tags=["q4"])
assert_type(project, t.Project)
assert_type(project["description"], Optional[str])
assert_type(client.projects.list(limit=3), Page[t.Project, t.ProjectList])
assert_type([each["user"]["name"] for each in client.projects.members.list(project["id"])], list[str])
assert_type(client.projects.delete(project["id"]), None)

client.projects.create(name=1)  # type: ignore[arg-type]
client.projects.create(name="Launch", colour="red")  # type: ignore[call-arg]
client.projects.list(sort="colour")  # type: ignore[arg-type]
client.projects.update(name="Lift-off")  # type: ignore[call-arg]
client.projects.rename(project["id"])  # type: ignore[attr-defined]
project["colour"]  # type: ignore[typeddict-item]


async def call(client: AsyncClient) -> None:
    assert_type(await client.projects.create(name="Launch"), t.Project)
    async for each in client.projects.list(tag="q4"):
        assert_type(each, t.Project)
    await client.projects.get(1)  # type: ignore[arg-type]
