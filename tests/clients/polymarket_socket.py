"""Follows tokens on Polymarket's market channel with websocket-client, as the venue's own example does.

Prints {"frames", "books", "trades"}: how many frames with books came, and the books after the last one.
"""

import json
import sys
import threading
import time

from websocket import WebSocketApp

url, tokens, wanted_frames, wanted_trades = json.loads(sys.argv[1])
books = {}
trades = []
frames = 0
pongs = 0


def apply(event):
    if event["event_type"] == "book":
        sides = {"BUY": event["bids"], "SELL": event["asks"]}
        books[event["asset_id"]] = {
            side: {level["price"]: level["size"] for level in levels} for side, levels in sides.items()
        }
        return True
    if event["event_type"] == "price_change":
        for change in event["price_changes"]:
            side = books[change["asset_id"]][change["side"]]
            if float(change["size"]) == 0:
                del side[change["price"]]
            else:
                side[change["price"]] = change["size"]
        return True
    if event["event_type"] == "last_trade_price":
        trades.append([event["asset_id"], event["price"], event["size"], event["side"]])
    return False


def on_message(socket, message):
    global frames, pongs
    if message == "PONG":
        pongs += 1
        return
    events = json.loads(message)
    changed = [apply(event) for event in (events if isinstance(events, list) else [events])]
    frames += any(changed)
    if frames >= wanted_frames and len(trades) >= wanted_trades and pongs > 0:
        socket.close()


def on_open(socket):
    socket.send(json.dumps({"assets_ids": tokens, "type": "market"}))

    def ping():
        while socket.keep_running:
            socket.send("PING")
            time.sleep(10)

    threading.Thread(target=ping, daemon=True).start()


def on_error(_socket, error):
    print(f"error: {error}", file=sys.stderr)


app = WebSocketApp(url, on_open=on_open, on_message=on_message, on_error=on_error)
app.run_forever()
sides = {token: [list(book["BUY"].items()), list(book["SELL"].items())] for token, book in books.items()}
print(json.dumps({"frames": frames, "books": sides, "trades": trades}))
