"""Verifies webhooks, which are signed as Standard Webhooks 1.0 specifies."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from typing import TYPE_CHECKING, Mapping, Optional, Sequence, Union

from .errors import WebhookVerificationError

if TYPE_CHECKING:
    from .types import PlatformEvent


def verify_webhook(
    payload: Union[bytes, str],
    headers: Mapping[str, str],
    secret: Union[str, Sequence[str], None] = None,
    *,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> PlatformEvent:
    """Checks the signature and the age of a webhook, and returns its event.

    ``payload`` is the exact body of the request. ``secret`` is ``whsec_…``, or several while the secret is
    rotated; the default is the environment variable PLATFORM_WEBHOOK_SECRET. ``tolerance`` is the highest
    age in seconds.

    Raises WebhookVerificationError: answer 400 and ignore the request.
    """
    keys = _keys_of(secret if secret is not None else os.environ.get("PLATFORM_WEBHOOK_SECRET", ""))
    given = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = (
        _header(given, f"webhook-{name}") for name in ("id", "timestamp", "signature")
    )
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookVerificationError("webhook-timestamp is not a number.")
    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        when = "old" if age > 0 else "in the future"
        raise WebhookVerificationError(
            f"The webhook is {abs(round(age))} s {when}; at most {tolerance} s are allowed. "
            "Check the clock of this machine."
        )
    body = payload.encode() if isinstance(payload, str) else payload
    if not isinstance(body, (bytes, bytearray)):
        raise WebhookVerificationError(
            "`payload` must be the exact body of the request, not the parsed object."
        )
    signed = f"{id}.{timestamp}.".encode() + body
    matches = False
    for key in keys:
        expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for signature in signatures.split(" "):
            # compare_digest takes constant time.
            matches |= hmac.compare_digest(expected, signature.encode())
    if not matches:
        raise WebhookVerificationError(
            "No signature matches. Check the secret, and that `payload` is the exact body of the request."
        )
    try:
        event: PlatformEvent = json.loads(body)
    except ValueError as error:
        raise WebhookVerificationError("The payload is not JSON.") from error
    return event


def _keys_of(secret: Union[str, Sequence[str]]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if secrets in ([], [""]):
        raise WebhookVerificationError(
            "The secret of the endpoint is missing: set `secret`, or the variable PLATFORM_WEBHOOK_SECRET."
        )
    keys = []
    for each in secrets:
        try:
            key = base64.b64decode(each[6:], validate=True) if each.startswith("whsec_") else b""
        except (binascii.Error, ValueError):
            key = b""
        if key == b"":
            raise WebhookVerificationError("A secret starts with `whsec_`, followed by Base64.")
        keys.append(key)
    return keys


def _header(headers: dict[str, str], name: str) -> str:
    value = headers.get(name)
    if not isinstance(value, str) or value == "":
        raise WebhookVerificationError(f"The request has no header {name}.")
    return value
