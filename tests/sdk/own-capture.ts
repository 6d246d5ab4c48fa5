import { constants, createHmac, sign } from 'node:crypto'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { VenueId } from '@priorbook/sdk/domain'

/** A line of a capture: when a message came, and the message as it came. */
export type CapturedLine = { received: number; message: unknown }

type Addresses = Readonly<Record<string, string>>

/** A capture that runs until it is stopped. */
export type OwnCapture = { readonly lines: CapturedLine[]; stop(): void }

/** Captures books straight from a venue's socket, knowing nothing of Priorbook. */
export async function captureBooks(
  venue: VenueId,
  addresses: Addresses,
  ids: readonly string[],
): Promise<OwnCapture> {
  const lines: CapturedLine[] = []
  const { url, headers, hello } = CONNECTIONS[venue](addresses, ids)
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    if (!/^[[{]/.test(text)) return
    lines.push({ received: Date.now() * 1000, message: JSON.parse(text) })
  })
  await once(socket, 'open')
  if (hello !== undefined) socket.send(JSON.stringify(hello))
  return { lines, stop: () => socket.close() }
}

type Connection = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly hello?: object
}

const CONNECTIONS: Record<VenueId, (addresses: Addresses, ids: readonly string[]) => Connection> = {
  venuea({ ws, apiKey, apiSecret }, ids) {
    const topics = ids.map((id) => `web3_prediction_orderbook_${id}`).join('|')
    const text = `random=0123456789abcdef&recvWindow=30000&timestamp=${Date.now()}&topic=${topics}`
    const signature = createHmac('sha256', apiSecret!).update(text).digest('hex')
    return { url: `${ws}?${text}&signature=${signature}`, headers: { 'X-MBX-APIKEY': apiKey! } }
  },
  venueb({ ws, keyId, privateKey }, ids) {
    const time = String(Date.now())
    const signature = sign('sha256', Buffer.from(`${time}GET${new URL(ws!).pathname}`), {
      key: privateKey!,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    })
    return {
      url: ws!,
      headers: {
        'KALSHI-ACCESS-KEY': keyId!,
        'KALSHI-ACCESS-TIMESTAMP': time,
        'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
      },
      hello: {
        id: 1,
        cmd: 'subscribe',
        params: { channels: ['orderbook_delta'], market_tickers: ids, use_yes_price: false },
      },
    }
  },
  venuec: ({ ws }, ids) => ({
    url: ws!,
    headers: {},
    hello: { assets_ids: ids, type: 'market', initial_dump: true, level: 2 },
  }),
}
