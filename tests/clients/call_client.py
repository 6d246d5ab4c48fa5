"""Calls methods of an official Python client, one per line of standard input.

A line is {"method": "getOrderBook", "arguments": [...]} for Polymarket and
{"method": "MarketApi.getMarkets", "arguments": {"limit": 100}} for Kalshi. The answer is one line:
{"result": ...} as the client parsed it, or {"error": "..."}.
"""

import dataclasses
import datetime
import importlib
import json
import re
import sys


def to_snake_case(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def polymarket(package, addresses):
    """Both generations of the client; neither needs a key for public data."""
    client_class = importlib.import_module(f"{package}.client").ClobClient
    types = importlib.import_module(f"{package}.clob_types")
    parse_book = importlib.import_module(f"{package}.utilities").parse_raw_orderbook_summary
    client = client_class(addresses["clob"], chain_id=137)

    def convert(method, value):
        if method == "getOrderBookHash":
            return parse_book(value)
        if method == "getPricesHistory":
            return types.PricesHistoryParams(**value)
        if isinstance(value, list):
            return [types.BookParams(**item) for item in value]
        return value

    def call(method, arguments):
        values = [convert(method, value) for value in arguments]
        return getattr(client, to_snake_case(method))(*values)

    return call


def kalshi(package, addresses):
    """The generated client, with its own signatures."""
    module = importlib.import_module(package)
    configuration = module.Configuration(host=addresses["rest"])
    configuration.api_key_id = addresses["keyId"]
    configuration.private_key_pem = addresses["privateKey"]
    client = module.KalshiClient(configuration)

    def call(method, arguments):
        api, name = method.split(".")
        function = getattr(getattr(module, api)(client), f"{to_snake_case(name)}_with_http_info")
        values = {to_snake_case(key): value for key, value in arguments.items()}
        response = function(**values)
        parsed = response.data.model_dump(by_alias=True)
        return {"parsed": parsed, "sent": json.loads(response.raw_data)}

    return call


def to_json(value):
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    if isinstance(value, datetime.datetime):
        # A time without a zone would be an error of the client or of the answer.
        return value.astimezone(datetime.UTC).isoformat() if value.tzinfo else f"no zone: {value}"
    return str(value)


package, addresses = sys.argv[1], json.loads(sys.argv[2])
call = (kalshi if package.startswith("kalshi") else polymarket)(package, addresses)
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"result": call(request["method"], request["arguments"])}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=to_json), flush=True)
