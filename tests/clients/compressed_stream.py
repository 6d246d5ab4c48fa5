"""Follows a market with and without compression, and prints what came: a line of JSON for each way."""

import asyncio
import json
import sys

import websockets
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory


async def follow(url: str, key: str, market: str, rows: int, extensions: list) -> dict:
    headers = {"Authorization": f"Bearer {key}"}
    socket = await websockets.connect(
        f"{url}/v3/stream", additional_headers=headers, compression=None, extensions=extensions, max_size=None
    )
    async with socket:
        request = {"op": "subscribe", "id": "s", "venue": "venueb", "market_id": market, "datasets": ["books"]}
        await socket.send(json.dumps(request))
        found: list[str] = []
        print(json.dumps({"ready": True}), flush=True)
        while len(found) < rows:
            message = json.loads(await socket.recv())
            if message["type"] in ("snapshot", "update"):
                found.append(message["row"]["id"])
        return {"extensions": [one.name for one in socket.protocol.extensions], "rows": found}


async def main() -> None:
    url, key, market, rows = sys.argv[1:5]
    ways = [
        [],
        [ClientPerMessageDeflateFactory()],
        [ClientPerMessageDeflateFactory(server_max_window_bits=12, client_max_window_bits=12)],
        [ClientPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)],
    ]
    for result in await asyncio.gather(*(follow(url, key, market, int(rows), way) for way in ways)):
        print(json.dumps(result), flush=True)


asyncio.run(main())
