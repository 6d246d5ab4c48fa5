"""What an OpenAPI document cannot say, for schemathesis: rules that bind parameters to each other or to data."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Longer addresses are refused, whatever their parameters.
MAX_ADDRESS = 8192

# Times that match the pattern and are not in the calendar, and sizes that are zero or too fine.
VALUES = {"start_time", "end_time", "from", "to", "at", "known_at", "day", "size"}
# Of one market: other markets have other outcomes.
OUTCOMES = {"outcome", "token_id"}
# Of downloads: which parameters belong to which dataset and format, and how a family of markets is named.
DOWNLOADS = {
    "asset",
    "dataset",
    "depth",
    "feed",
    "format",
    "formats",
    "include_orderbook",
    "market_id",
    "metric",
    "number_format",
    "offset",
    "origin",
    "series",
    "time_format",
    "window",
}
# A pattern cannot say that a list has each word once.
ONCE = "Each word at most once"
# Buckets are made by one clock; a row belongs to one market.
PAIRS = {"clock", "id"}
STYLE = {"number_format", "time_format"}
# Of single operations.
MORE = {
    "alert_create": {
        "kind",
        "venue",
        "market_id",
        "asset",
        "window",
        "series",
        "outcome",
        "contract_id",
        "of",
        "side",
        "within",
        "above",
        "below",
        "rearm",
        "on",
        "webhook",
    },
    "bulk": DOWNLOADS,
    "bulkManifest": DOWNLOADS,
    "contract_consolidated": {"side"},
    "contract_leadlag": {"step_ms"},
    "event": {"venue"},
    # Files have all rows, and values of their own form.
    "panels": {"limit", "cursor", "number_format", "time_format"},
    "proof_day": {"venue", "market_id"},
    "reference_asof": {"feed"},
    "reference_prices": {"feed"},
}


def is_unsaid(operation: str, problem: dict) -> bool:
    """Whether a refusal follows from a rule that the document cannot say."""
    code, param = problem.get("code"), problem.get("param")
    if code in ("invalid_range", "invalid_cursor"):
        return True
    # Every kind of alert has members of its own.
    if operation == "alert_create" and code == "unknown_parameter":
        return param in MORE[operation]
    if problem.get("hint", "").startswith(ONCE):
        return True
    # Columns have types, so that a style is refused beside them.
    if param in STYLE and problem.get("detail") == f"{param} has no meaning for format=arrow":
        return True
    known = VALUES | OUTCOMES | PAIRS | MORE.get(operation, set())
    return code == "invalid_parameter" and param in known


# What was sent, in this order: two runs of one tree send the same.
SENT = "sent.txt"


@schemathesis.hook
def after_call(context, case, response) -> None:
    request = response.request
    with open(SENT, "a", encoding="utf-8", errors="backslashreplace") as sent:
        sent.write(f"{request.method} {request.path_url} {request.body!r}\n")


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    if not isinstance(failure, RejectedPositiveData):
        return True
    if response.status_code == 414:
        return len(response.request.path_url) <= MAX_ADDRESS
    if response.status_code != 400:
        return True
    return not is_unsaid(case.operation.definition.raw.get("operationId"), response.json())
