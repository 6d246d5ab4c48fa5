import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { printScaled } from '@priorbook/sdk/domain'
import { readTruth, startEmulator, type Book, type TruthEntry } from '@priorbook/emulator'

type Level = { readonly price: string; readonly size: string }
type Message = {
  readonly event_type: string
  readonly asset_id: string
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
  readonly price_changes: readonly (Level & { asset_id: string; side: 'BUY' | 'SELL' })[]
}
type Sides = Record<'BUY' | 'SELL', Map<string, string>>

const CONNECTIONS = 10
const TOKENS_EACH = 60
const RUN_MS = 4_000
const ARRIVAL_MS = 1_000

/** Folds what a socket says, knowing nothing of the emulator: one book per token. */
function fold(books: Map<string, Sides>, message: Message): void {
  if (message.event_type === 'book') {
    const side = (levels: readonly Level[]): Map<string, string> =>
      new Map(levels.map(({ price, size }) => [price, size]))
    books.set(message.asset_id, { BUY: side(message.bids), SELL: side(message.asks) })
  }
  for (const { asset_id, side, price, size } of message.price_changes ?? []) {
    const levels = books.get(asset_id)![side]
    if (size === '0') levels.delete(price)
    else levels.set(price, size)
  }
}

function printed(sides: Sides): string {
  const side = (levels: Map<string, string>): string[] =>
    [...levels].map(([price, size]) => `${price} ${size}`).sort()
  return JSON.stringify([side(sides.BUY), side(sides.SELL)])
}

function toSides({ bids, asks }: Book): Sides {
  const side = (levels: Book['bids']): Map<string, string> =>
    new Map(levels.map(({ price, size }) => [printScaled(price, 4), printScaled(size, 6)]))
  return { BUY: side(bids), SELL: side(asks) }
}

async function listen(url: string, assets_ids: readonly string[], books: Map<string, Sides>) {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  let frames = 0
  socket.on('message', (data: Buffer) => {
    frames++
    const said = JSON.parse(data.toString()) as Message | Message[]
    for (const message of Array.isArray(said) ? said : [said]) fold(books, message)
  })
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send(JSON.stringify({ assets_ids, type: 'market' }))
  return { frames: () => frames }
}

test('many sockets of a broad world fold to the books of the log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-broad-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const logFile = join(folder, 'truth.ndjson')
  const emulator = await startEmulator({
    seed: 61,
    venues: ['venuec'],
    breadth: { venuec: 400 },
    rates: { changes: 0, trades: 0, breadth: 2_000, turnover: 60 },
    logFile,
  })
  const { gamma, ws } = emulator.addresses.venuec!
  const tokens: string[] = []
  for (let offset = 0; tokens.length < CONNECTIONS * TOKENS_EACH; offset += 100) {
    const answer = await fetch(`${gamma}/markets?limit=100&offset=${offset}`)
    const markets = (await answer.json()) as { clobTokenIds: string }[]
    tokens.push(...markets.flatMap(({ clobTokenIds }) => JSON.parse(clobTokenIds) as string[]))
  }
  const books = new Map<string, Sides>()
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, at) =>
      listen(ws, tokens.slice(at * TOKENS_EACH, (at + 1) * TOKENS_EACH), books),
    ),
  )
  await pause(RUN_MS)
  // From here on the log says that nothing is sent, so all that was sent has time to arrive.
  emulator.inject({ fault: { kind: 'stall' }, target: { venue: 'venuec' } })
  const heard = (): number => clients.reduce((sum, client) => sum + client.frames(), 0)
  for (let before = -1; before !== heard();) {
    before = heard()
    await pause(ARRIVAL_MS)
  }
  await emulator.close()

  const last = new Map<string, Book>()
  const standing = new Set<string>()
  let sent = 0
  for await (const entry of readTruth(logFile) as AsyncIterable<TruthEntry>) {
    if (entry.type === 'market' && entry.phase === 'open') standing.add(entry.keys[0]!)
    if (entry.type !== 'frame' || entry.delivered !== 'sent') continue
    sent++
    for (const payload of entry.payloads) {
      if ('book' in payload) last.set(payload.key, payload.book)
    }
  }
  expect(heard()).toBe(sent)
  expect(sent).toBeGreaterThan(1_000)
  expect(books.size).toBe(last.size)
  for (const [token, book] of last) {
    expect(printed(books.get(token)!)).toBe(printed(toSides(book)))
  }
  // Markets that were open before the start are in the log too.
  expect(standing.size).toBeGreaterThan(390)
})
