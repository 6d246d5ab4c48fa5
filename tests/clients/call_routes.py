"""Calls routes with the generated client and compares what it parsed with what was sent.

Reads one JSON object per line of standard input: {"tag", "operation", "arguments", "status"}.
Prints one line per call: the operation, and why it failed or "ok".
"""

import enum
import importlib
import json
import sys
import typing

from priorbook_client import AuthenticatedClient

url, key = sys.argv[1:3]
client = AuthenticatedClient(base_url=url, token=key)
failed = False


def to_arguments(function, values):
    """Turns words into members of the generated enumerations where a parameter is one."""
    hints = typing.get_type_hints(function)

    def convert(name, value):
        for kind in typing.get_args(hints[name]) or (hints[name],):
            if isinstance(kind, type) and issubclass(kind, enum.Enum):
                return kind(value)
        return value

    return {name: convert(name, value) for name, value in values.items()}


for line in sys.stdin:
    call = json.loads(line)
    name = call["operation"]
    module = importlib.import_module(f"priorbook_client.api.{call['tag']}.{name}")
    arguments = to_arguments(module.sync_detailed, call["arguments"])
    response = module.sync_detailed(client=client, **arguments)
    sent = json.loads(response.content)
    if response.status_code != call["status"]:
        fault = f"status {response.status_code}: {sent}"
    elif response.parsed is None:
        fault = "the answer was not parsed"
    elif response.parsed.to_dict() != sent:
        fault = f"parsed as {response.parsed.to_dict()}, sent as {sent}"
    else:
        fault = "ok"
    failed = failed or fault != "ok"
    print(f"{name}: {fault[:2000]}")

sys.exit(1 if failed else 0)
