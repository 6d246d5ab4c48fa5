"""The taker of `npm run bench -- backtest` in hftbacktest: takes whenever the mid has moved by six cents.

python hftbacktest_taker.py REPEATS EVENTS.npz...
prints {"hashmap": {...}, "roivector": {...}}: the CPU seconds of the compiled loop over all files, repeated,
for both kinds of depth that hftbacktest has, and the orders of one round.

Events are in memory, and the loop has been compiled and run once, before anything is timed. Markets run one after
another, which is faster than many assets in one backtest. Fees are zero: there is no model of this venue's.
"""

import json
import sys
import time

import numpy as np
from hftbacktest import GTC, MARKET, BacktestAsset, HashMapMarketDepthBacktest, ROIVectorMarketDepthBacktest
from numba import njit

ROUNDS = 3
TICK = 0.0001
# Twice six cents in ticks, because the sum of both best prices is compared.
MOVED = 1200
HIGHEST = 10_000
# Longer than any market: the loop waits for the next event, whenever it comes.
FOREVER = 1_000_000_000_000_000


@njit
def take(backtest):
    last = -1
    orders = 0
    # 2: the next instant with events has been reached.
    while backtest.wait_next_feed(False, FOREVER) == 2:
        depth = backtest.depth(0)
        bid = depth.best_bid_tick
        ask = depth.best_ask_tick
        if bid < 0 or ask > HIGHEST:
            continue
        both = bid + ask
        if last < 0:
            last = both
        elif abs(both - last) > MOVED:
            orders += 1
            if both > last:
                backtest.submit_buy_order(0, orders, ask * TICK, 2.0, GTC, MARKET, False)
            else:
                backtest.submit_sell_order(0, orders, bid * TICK, 2.0, GTC, MARKET, False)
            last = both
            backtest.clear_inactive_orders(0)
    return orders


def asset_of(events):
    return (
        BacktestAsset()
        .data(events)
        .linear_asset(1.0)
        .constant_order_latency(50_000_000, 0)
        .risk_adverse_queue_model()
        .partial_fill_exchange()
        .trading_value_fee_model(0, 0)
        .tick_size(TICK)
        .lot_size(0.01)
        .last_trades_capacity(0)
    )


def hashmap(events):
    return HashMapMarketDepthBacktest([asset_of(events)])


def roivector(events):
    return ROIVectorMarketDepthBacktest([asset_of(events).roi_lb(0.0).roi_ub(1.0)])


def run(create, markets):
    """The orders of all markets, and the CPU seconds of the thread in the loop alone."""
    orders = 0
    seconds = 0.0
    for events in markets:
        backtest = create(events)
        begun = time.thread_time()
        orders += take(backtest)
        seconds += time.thread_time() - begun
        backtest.close()
    return orders, seconds


def main():
    repeats = int(sys.argv[1])
    markets = [np.load(path)['data'] for path in sys.argv[2:]]
    result = {}
    for create in (hashmap, roivector):
        orders, _ = run(create, markets)
        best = min(run(create, markets * repeats)[1] for _ in range(ROUNDS))
        result[create.__name__] = {'cpu_seconds': best, 'orders': orders}
    print(json.dumps(result))


main()
