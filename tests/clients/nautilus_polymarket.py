"""Runs nautilus_trader's Polymarket adapter: its instrument provider and its live data client.

Prints {"clob", "gamma", "frames", "books", "trades"}: the instruments as loaded from the order books' own
catalogue and from Gamma, how many frames with books came, and the books that its deltas fold to.
"""

import asyncio
import json
import os
import sys

addresses, tokens, wanted_frames, wanted_trades = json.loads(sys.argv[1])
# The adapter has no other way to be pointed at another Gamma, and reads this when it is imported.
os.environ["GAMMA_API_URL"] = addresses["gamma"]

from nautilus_trader.adapters.polymarket.config import PolymarketDataClientConfig
from nautilus_trader.adapters.polymarket.data import PolymarketDataClient
from nautilus_trader.adapters.polymarket.providers import PolymarketInstrumentProvider
from nautilus_trader.adapters.polymarket.providers import PolymarketInstrumentProviderConfig
from nautilus_trader.cache.cache import Cache
from nautilus_trader.common.component import LiveClock
from nautilus_trader.common.component import MessageBus
from nautilus_trader.core.uuid import UUID4
from nautilus_trader.data.messages import SubscribeOrderBook
from nautilus_trader.data.messages import SubscribeTradeTicks
from nautilus_trader.model.book import OrderBook
from nautilus_trader.model.data import OrderBookDelta
from nautilus_trader.model.data import OrderBookDeltas
from nautilus_trader.model.data import TradeTick
from nautilus_trader.model.enums import BookType
from nautilus_trader.model.identifiers import TraderId
from nautilus_trader.model.instruments import BinaryOption
from py_clob_client_v2.client import ClobClient


def describe(provider):
    return [
        {
            "condition": instrument.id.symbol.value.rsplit("-", 1)[0],
            "token": instrument.raw_symbol.value,
            "outcome": instrument.outcome,
            "question": instrument.description,
            "tick": str(instrument.price_increment),
            "expires": instrument.expiration_ns // 1_000_000,
            "takerFee": str(instrument.taker_fee),
        }
        for instrument in provider.get_all().values()
    ]


async def main():
    clock = LiveClock()
    http = ClobClient(addresses["clob"], chain_id=137)

    gamma_config = PolymarketInstrumentProviderConfig(load_all=True, use_gamma_markets=True)
    gamma = PolymarketInstrumentProvider(http, clock, gamma_config)
    await gamma.load_all_async({"is_active": True})

    clob_config = PolymarketInstrumentProviderConfig(load_all=True)
    clob = PolymarketInstrumentProvider(http, clock, clob_config)
    msgbus = MessageBus(TraderId("TESTER-001"), clock)
    cache = Cache()
    books, trades, done, frames = {}, [], asyncio.Event(), 0

    def process(data):
        if isinstance(data, BinaryOption):
            cache.add_instrument(data)
        elif isinstance(data, OrderBookDeltas):
            book = books.setdefault(data.instrument_id, OrderBook(data.instrument_id, BookType.L2_MBP))
            book.apply_deltas(data)
        elif isinstance(data, TradeTick):
            token = cache.instrument(data.instrument_id).raw_symbol.value
            trades.append([token, str(data.price), str(data.size), data.aggressor_side.name])
        else:
            raise TypeError(type(data))

    msgbus.register("DataEngine.process", process)
    config = PolymarketDataClientConfig(
        base_url_ws=addresses["ws"].removesuffix("market"),
        ws_connection_initial_delay_secs=0.5,
        update_instruments_interval_mins=None,
    )
    client = PolymarketDataClient(
        asyncio.get_running_loop(), http, msgbus, cache, clock, clob, config, None
    )

    # Frames are counted where the adapter receives them; nothing after the last one is applied.
    handle = client._handle_raw_ws_message

    def count(raw):
        nonlocal frames
        if done.is_set():
            return
        handle(raw)
        frames += b'"event_type":"book"' in raw or b'"event_type":"price_change"' in raw
        if frames >= wanted_frames and len(trades) >= wanted_trades:
            done.set()

    client._ws_client._handler = count

    await client._connect()
    ids = [one.id for one in clob.get_all().values() if one.raw_symbol.value in tokens]
    for instrument_id in ids:
        shared = {"client_id": client.id, "venue": client.venue, "command_id": UUID4(), "ts_init": 0}
        client.subscribe_order_book_deltas(
            SubscribeOrderBook(
                instrument_id=instrument_id,
                book_data_type=OrderBookDelta,
                book_type=BookType.L2_MBP,
                **shared,
            )
        )
        client.subscribe_trade_ticks(SubscribeTradeTicks(instrument_id=instrument_id, **shared))
    await done.wait()
    await client._disconnect()

    def levels(side):
        return [[str(level.price), str(level.size())] for level in side]

    told = {
        "clob": describe(clob),
        "gamma": describe(gamma),
        "frames": frames,
        "trades": trades,
        "books": {
            cache.instrument(key).raw_symbol.value: [levels(book.bids()), levels(book.asks())]
            for key, book in books.items()
        },
    }
    print("\nresult " + json.dumps(told))


asyncio.run(main())
