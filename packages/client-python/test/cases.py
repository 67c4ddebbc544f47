"""Runs the cases of a module and prints one line of JSON for each."""

from __future__ import annotations

import inspect
import json
import sys
import traceback
from types import ModuleType
from typing import Any


def run(module: ModuleType) -> None:
    """Calls each function whose name starts with ``case_``; its docstring is the name of the test."""
    cases = [each for name, each in vars(module).items() if name.startswith("case_")]
    for case in cases:
        result: dict[str, Any] = {"name": inspect.getdoc(case), "error": None}
        try:
            case()
        except BaseException:
            result["error"] = traceback.format_exc()
        print(json.dumps(result))
        sys.stdout.flush()


def equal(found: Any, wanted: Any) -> None:
    """Raises unless both are equal."""
    if found != wanted:
        raise AssertionError(f"found {found!r}, wanted {wanted!r}")


def raises(kind: type[BaseException], call: Any) -> Any:
    """The error that the call raises."""
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}, but {result!r}")
