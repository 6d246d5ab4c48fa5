import { constants, sign } from 'node:crypto'
import { WebSocket } from 'ws'

/** What a client of venue B knows. */
export type ClientAddress = {
  readonly rest: string
  readonly ws: string
  readonly keyId: string
  readonly privateKey: string
}

/** The three headers of a signed request, `skewMs` beside our clock. */
export function signedHeaders(
  { keyId, privateKey }: ClientAddress,
  path: string,
  skewMs = 0,
): Record<string, string> {
  const time = String(Date.now() + skewMs)
  const signature = sign('sha256', Buffer.from(`${time}GET${path}`), {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  })
  return {
    'KALSHI-ACCESS-KEY': keyId,
    'KALSHI-ACCESS-TIMESTAMP': time,
    'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
  }
}

/** A message of the socket. */
export type Message = {
  readonly type: string
  readonly id?: number
  readonly sid?: number
  readonly seq?: number
  readonly msg: Readonly<Record<string, unknown>>
}

/** A signed socket that keeps every frame. */
export interface Client {
  readonly socket: WebSocket
  readonly texts: string[]
  readonly messages: Message[]
  send(command: unknown): void
  /** Resolves with the first message, old or new, that passes the test. */
  wait(test: (message: Message) => boolean): Promise<Message>
  close(): Promise<void>
}

/** Connects to the emulated venue B, whose clock is `skewMs` ahead of ours. */
export async function connect(address: ClientAddress, skewMs = 0): Promise<Client> {
  const socket = new WebSocket(address.ws, {
    headers: signedHeaders(address, '/trade-api/ws/v2', skewMs),
    perMessageDeflate: false,
  })
  const texts: string[] = []
  const messages: Message[] = []
  const waiting = new Set<() => void>()
  socket.on('message', (data: Buffer) => {
    texts.push(data.toString())
    try {
      messages.push(JSON.parse(data.toString()) as Message)
    } catch {
      // A fault may have sent it; the text is kept.
    }
    for (const look of waiting) look()
  })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  return {
    socket,
    texts,
    messages,
    send: (command) => socket.send(JSON.stringify(command)),
    wait: (test) =>
      new Promise((resolve) => {
        let from = 0
        const look = (): void => {
          for (; from < messages.length; from++) {
            if (!test(messages[from]!)) continue
            waiting.delete(look)
            resolve(messages[from]!)
            return
          }
        }
        waiting.add(look)
        look()
      }),
    close: () =>
      new Promise((resolve) => {
        if (socket.readyState === WebSocket.CLOSED) return resolve()
        socket.once('close', () => resolve())
        socket.terminate()
      }),
  }
}

/** Asks the emulated venue B without a signature. */
export async function get(address: ClientAddress, path: string): Promise<unknown> {
  const response = await fetch(`${address.rest}${path}`)
  return response.json()
}
