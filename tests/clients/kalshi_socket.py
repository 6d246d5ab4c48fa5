"""Follows markets on Kalshi's socket with websockets, signed by the official client.

Prints {"frames", "books", "trades", "lifecycle", "gaps", "refused"}: how many frames with books came, the books after
the last one, and how often a sequence number was not the successor of the one before. `refused` is the
status for the signature of another key.
"""

import asyncio
import json
import sys
from decimal import Decimal

import websockets
from kalshi_python_sync import KalshiAuth

url, key_id, private_key, tickers, wanted_frames, wanted_trades, wanted_lifecycle = json.loads(sys.argv[1])


def sign(key_id):
    return KalshiAuth(key_id, private_key).create_auth_headers("GET", "/trade-api/ws/v2")


async def connect_with_another_key():
    try:
        async with websockets.connect(url, additional_headers=sign("another key")):
            return 101
    except websockets.exceptions.InvalidStatus as error:
        return error.response.status_code


async def follow():
    refused = await connect_with_another_key()
    books, trades, lifecycle, sequences = {}, [], [], {}
    frames = gaps = 0
    async with websockets.connect(url, additional_headers=sign(key_id)) as socket:
        channels = {"channels": ["orderbook_delta", "trade"], "market_tickers": tickers}
        await socket.send(json.dumps({"id": 1, "cmd": "subscribe", "params": channels}))
        all_markets = {"channels": ["market_lifecycle_v2"]}
        await socket.send(json.dumps({"id": 2, "cmd": "subscribe", "params": all_markets}))
        async for text in socket:
            message = json.loads(text)
            kind, content = message["type"], message["msg"]
            if kind == "error":
                raise RuntimeError(text)
            if "seq" in message and "sid" in message:
                before = sequences.get(message["sid"])
                gaps += before is not None and message["seq"] != before + 1
                sequences[message["sid"]] = message["seq"]
            if kind == "orderbook_snapshot":
                sides = [content.get("yes_dollars_fp", []), content.get("no_dollars_fp", [])]
                books[content["market_ticker"]] = [
                    {price: Decimal(count) for price, count in side} for side in sides
                ]
                frames += 1
            elif kind == "orderbook_delta":
                side = books[content["market_ticker"]][0 if content["side"] == "yes" else 1]
                price = content["price_dollars"]
                side[price] = side.get(price, Decimal(0)) + Decimal(content["delta_fp"])
                if side[price] == 0:
                    del side[price]
                frames += 1
            elif kind == "trade":
                trades.append([content[name] for name in TRADE_FIELDS])
            elif kind == "market_lifecycle_v2":
                lifecycle.append([content["market_ticker"], content["event_type"]])
            enough = frames >= wanted_frames and len(trades) >= wanted_trades
            if enough and len(lifecycle) >= wanted_lifecycle:
                break
    sides = {
        ticker: [[[price, str(count)] for price, count in side.items()] for side in book]
        for ticker, book in books.items()
    }
    told = {"frames": frames, "books": sides, "trades": trades, "lifecycle": lifecycle}
    print(json.dumps({**told, "gaps": gaps, "refused": refused}))


TRADE_FIELDS = ["trade_id", "market_ticker", "yes_price_dollars", "count_fp", "taker_outcome_side"]
asyncio.run(follow())
