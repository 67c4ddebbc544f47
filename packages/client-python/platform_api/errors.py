"""The errors of the client: a class per kind, all of them PlatformError."""

from __future__ import annotations

import email.utils
import time
from typing import Any, Optional

import httpx


class PlatformError(Exception):
    """Every error that the client raises. The text is for people and may change at any time."""

    #: The operationId; None outside of operations.
    operation: Optional[str] = None
    #: The HTTP status; None if there was no response.
    status: Optional[int] = None
    #: The code of the error, such as ``NOT_FOUND``.
    code: Optional[str] = None
    #: What is wrong, field by field.
    details: Optional[dict[str, Any]] = None
    #: Identifies the request in the server's log.
    request_id: Optional[str] = None
    #: Seconds to wait before the next attempt, from Retry-After.
    retry_after: Optional[float] = None

    def __init__(self, message: str, operation: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.operation = operation


class ApiError(PlatformError):
    """The response is not a success. The classes below are for single statuses."""

    status: int
    response: httpx.Response

    def __init__(self, operation: str, response: httpx.Response) -> None:
        problem = problem_of(response)
        message = problem.get("message") or f"{operation} failed: {foreign(response)}"
        super().__init__(message, operation)
        self.response = response
        self.status = response.status_code
        self.code = problem.get("code")
        self.details = problem.get("details")
        self.request_id = response.headers.get("x-request-id")
        self.retry_after = seconds_to_wait(response)


class ValidationError(ApiError):
    """400: a parameter or the body is invalid."""


class AuthenticationError(ApiError):
    """401: the key is missing, malformed, expired or revoked."""


class PermissionDeniedError(ApiError):
    """403: the key or the user lacks a permission."""


class NotFoundError(ApiError):
    """404: the resource does not exist or is not visible to you."""


class ConflictError(ApiError):
    """409: the state of the resource or a concurrent request does not allow this."""


class GoneError(ApiError):
    """410: the resource existed, but is gone."""


class PreconditionFailedError(ApiError):
    """412: the resource has changed since you read it."""


class RateLimitError(ApiError):
    """429: too many requests. ``retry_after`` is the number of seconds to wait."""


class ServerError(ApiError):
    """500 or higher: the server or a proxy failed."""


class NetworkError(PlatformError):
    """The server was not reached, or the connection broke before the response was complete."""


class RequestTimeoutError(NetworkError):
    """The server did not answer within the time-out."""


class StreamError(PlatformError):
    """The server ended a stream with an error, or before it was complete."""


class ConfigurationError(PlatformError):
    """The URL or the key cannot be right."""


class WebhookVerificationError(PlatformError):
    """A webhook was not signed with the secret, or is too old. Answer 400 and ignore the request."""


_by_status: dict[int, type[ApiError]] = {
    400: ValidationError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    429: RateLimitError,
}


def api_error(operation: str, response: httpx.Response) -> ApiError:
    """The error of a response, by its status."""
    kind = _by_status.get(response.status_code, ServerError if response.status_code >= 500 else ApiError)
    return kind(operation, response)


def stream_error(operation: str, body: Any) -> StreamError:
    """The error that ends a stream of events."""
    problem = body.get("error", body) if isinstance(body, dict) else {}
    error = StreamError(problem.get("message") or "The stream ended with an error.", operation)
    error.code = problem.get("code")
    error.details = problem.get("details")
    error.request_id = (error.details or {}).get("request_id")
    return error


def problem_of(response: httpx.Response) -> dict[str, Any]:
    """The ``error`` of the body; empty if the response is not the API's."""
    try:
        problem = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return problem if isinstance(problem, dict) else {}


def foreign(response: httpx.Response) -> str:
    """Describes a response that the API did not send; it may come from a proxy or another server."""
    kind = response.headers.get("content-type", "no body").split(";")[0]
    # A query may have the signature of a presigned URL.
    place = response.request.url.copy_with(query=None, fragment=None)
    return f"{response.status_code} ({kind}) from {place}. Check `base_url`."


def seconds_to_wait(response: httpx.Response) -> Optional[float]:
    """Retry-After in seconds: a number, or a date."""
    value: str = response.headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
