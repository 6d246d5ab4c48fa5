"""The example of the docs that verifies deliveries, with those of a live service and forged ones."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from priorbook import Client

PAGE = Path(os.environ["PRIORBOOK_ROOT"], "docs/reference/alerts.md").read_text()
IsGenuine = Callable[[str, dict[str, str], bytes], bool]


@dataclass(frozen=True)
class Delivery:
    """What a receiver got, and the secret that signed it."""

    secret: str
    headers: dict[str, str]
    body: bytes

    def signed_at(self, sent: int) -> dict[str, str]:
        """The headers of the same event, sent at another time and signed with the right secret."""
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        signed = b".".join((self.headers["webhook-id"].encode(), str(sent).encode(), self.body))
        mac = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        return {**self.headers, "webhook-timestamp": str(sent), "webhook-signature": f"v1,{mac}"}


@pytest.fixture
def is_genuine(delivery: Delivery) -> IsGenuine:
    """The function of the docs, as it is printed, by a clock that stands at the time of the delivery."""
    found = re.search(r"### Verify a delivery.*?```python\n(.*?)```", PAGE, re.S)
    assert found is not None
    names: dict[str, Any] = {}
    exec(compile(found[1], "alerts.md", "exec"), names)
    names["time"] = SimpleNamespace(time=lambda: int(delivery.headers["webhook-timestamp"]))
    made: IsGenuine = names["is_genuine"]
    return made


@pytest.fixture(scope="module")
def delivery(client: Client) -> Iterator[Delivery]:
    """A test event of a rule, as the service delivered it."""
    received: Queue[tuple[dict[str, str], bytes]] = Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.put(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Stays silent."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        hook = f"http://127.0.0.1:{server.server_port}/hook"
        rule = {"kind": "gap", "venue": "venueb", "asset": "btc", "name": "größer ✓", "webhook": hook}
        alert = client.create_alert(rule).data
        try:
            client.test_alert(alert.alert_id)
            headers, body = received.get()
            yield Delivery(alert.secret, headers, body)
        finally:
            client.delete_alert(alert.alert_id)
            server.shutdown()
            thread.join()


def test_a_genuine_delivery_is_taken(is_genuine: IsGenuine, delivery: Delivery) -> None:
    assert "größer ✓".encode() in delivery.body
    assert is_genuine(delivery.secret, delivery.headers, delivery.body)


def test_a_changed_delivery_is_not(is_genuine: IsGenuine, delivery: Delivery) -> None:
    sent = int(delivery.headers["webhook-timestamp"])
    for header, text in [
        ("webhook-id", "evt_other-1"),
        ("webhook-timestamp", str(sent - 1)),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", "v1," + delivery.headers["webhook-signature"][:2:-1]),
        ("webhook-signature", "v1,\u00e9"),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "9" * 5000),
    ]:
        assert not is_genuine(delivery.secret, {**delivery.headers, header: text}, delivery.body), (header, text)
    for header in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        without = {name: value for name, value in delivery.headers.items() if name != header}
        assert not is_genuine(delivery.secret, without, delivery.body), header
    assert not is_genuine(delivery.secret, delivery.headers, delivery.body.replace(b"test", b"tent"))
    assert not is_genuine(delivery.secret, delivery.headers, b"")


def test_a_foreign_delivery_is_not(is_genuine: IsGenuine, delivery: Delivery) -> None:
    foreign = "whsec_" + base64.b64encode(bytes(32)).decode()
    assert not is_genuine(foreign, delivery.headers, delivery.body)


def test_an_old_delivery_is_not_although_it_is_signed(is_genuine: IsGenuine, delivery: Delivery) -> None:
    sent = int(delivery.headers["webhook-timestamp"])
    for seconds, is_taken in ((-3600, False), (-301, False), (-300, True), (300, True), (301, False)):
        headers = delivery.signed_at(sent + seconds)
        assert is_genuine(delivery.secret, headers, delivery.body) is is_taken, seconds
