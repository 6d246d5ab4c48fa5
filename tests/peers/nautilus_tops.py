"""Best prices of a converted market at instants, by a strategy in the backtest engine of nautilus_trader.

python nautilus_tops.py CATALOGUE INSTRUMENT INSTANTS.json
prints {tops: [[best bid, best ask], ...], trades: [[price, size, side, id, time], ...]}, decimals as text.
"""

import json
import sys

from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.config import LoggingConfig
from nautilus_trader.model.data import OrderBookDelta, TradeTick
from nautilus_trader.model.enums import AccountType, BookType, OmsType
from nautilus_trader.model.identifiers import InstrumentId, Venue
from nautilus_trader.model.objects import Money
from nautilus_trader.persistence.catalog import ParquetDataCatalog
from nautilus_trader.trading.strategy import Strategy

folder, name, instants = sys.argv[1:]
catalog = ParquetDataCatalog(folder)
(instrument,) = [one for one in catalog.instruments() if one.id.value == name]
deltas = catalog.query(OrderBookDelta, identifiers=[name])
trades = catalog.query(TradeTick, identifiers=[name])


class Look(Strategy):
    def __init__(self):
        super().__init__()
        self.tops = []
        self.trades = []

    def on_start(self):
        self.subscribe_order_book_deltas(instrument.id, book_type=BookType.L2_MBP)
        self.subscribe_trade_ticks(instrument.id)

    def on_order_book_deltas(self, deltas):
        book = self.cache.order_book(instrument.id)
        top = (text(book.best_bid_price()), text(book.best_ask_price()))
        self.tops.append((deltas.ts_init, top))

    def on_trade_tick(self, tick):
        self.trades.append([str(tick.price), str(tick.size), int(tick.aggressor_side), str(tick.trade_id), tick.ts_init // 1000])


def text(price):
    return None if price is None else str(price)


engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
engine.add_venue(
    venue=Venue(instrument.id.venue.value),
    oms_type=OmsType.NETTING,
    account_type=AccountType.CASH,
    base_currency=instrument.quote_currency,
    starting_balances=[Money(1_000_000, instrument.quote_currency)],
    book_type=BookType.L2_MBP,
)
engine.add_instrument(instrument)
engine.add_data(deltas)
engine.add_data(trades)
look = Look()
engine.add_strategy(look)
engine.run()

tops, at, now = [], 0, (None, None)
for instant in json.load(open(instants)):
    while at < len(look.tops) and look.tops[at][0] <= instant * 1000:
        now = look.tops[at][1]
        at += 1
    tops.append(now)
print(json.dumps({'tops': tops, 'trades': look.trades}))
