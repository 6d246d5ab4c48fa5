"""Best prices of a converted market at instants, by hftbacktest: a strategy that looks and never orders.

python hftbacktest_tops.py EVENTS.npz INSTANTS.json TICK_SIZE LOT_SIZE
prints [[best bid in ticks, best ask in ticks], ...], null where a side is empty.
"""

import json
import sys

import numpy as np
from hftbacktest import BacktestAsset, HashMapMarketDepthBacktest
from hftbacktest.types import event_dtype
from numba import njit

path, instants, tick_size, lot_size = sys.argv[1:]

events = np.load(path)['data']
assert events.dtype == event_dtype, events.dtype
assert (np.diff(events['local_ts']) >= 0).all() and (np.diff(events['exch_ts']) >= 0).all()
assert (events['exch_ts'] <= events['local_ts']).all()
# Every price and size comes back from its double as the same whole number of ticks and lots.
for name, unit in (('px', tick_size), ('qty', lot_size)):
    decimals = len(unit.split('.')[1])
    whole = np.rint(events[name] * 10**decimals)
    assert (whole / 10**decimals == events[name]).all()

asset = (
    BacktestAsset()
    .data([path])
    .linear_asset(1.0)
    .constant_order_latency(0, 0)
    .risk_adverse_queue_model()
    .no_partial_fill_exchange()
    .trading_value_fee_model(0, 0)
    .tick_size(float(tick_size))
    .lot_size(float(lot_size))
    .last_trades_capacity(0)
)


@njit
def look(backtest, times, tops):
    # The clock stands at the first event after the first step.
    backtest.elapse(1)
    for index in range(len(times)):
        if times[index] > backtest.current_timestamp:
            if backtest.elapse(times[index] - backtest.current_timestamp) != 0:
                return index
        depth = backtest.depth(0)
        tops[index, 0] = depth.best_bid_tick
        tops[index, 1] = depth.best_ask_tick
    return len(times)


times = np.array(json.load(open(instants)), dtype=np.int64) * 1000
tops = np.zeros((len(times), 2), dtype=np.int64)
backtest = HashMapMarketDepthBacktest([asset])
seen = look(backtest, times, tops)
assert seen == len(times), f'{seen} of {len(times)} instants'
backtest.close()
INVALID = (-(2**63), 2**63 - 1)
shown = [[None if int(top) in INVALID else int(top) for top in row] for row in tops]
print(json.dumps(shown))
