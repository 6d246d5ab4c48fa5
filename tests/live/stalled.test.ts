import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FLAGS, VENUES, type Micros } from '@priorbook/sdk/domain'
import { levelKey } from '@priorbook/sdk/tape'
import { expect, it, onTestFinished } from 'vitest'
import { StreamClient } from '../../packages/service/src/api/stream/stream.testing.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { ManualClock } from '../../packages/service/src/lib/clock.testing.ts'
import { pause } from '../capture/harness.ts'
import { LiveApi } from './live-api.ts'

const READERS = process.env['PRIORBOOK_FULL'] === '1' ? 8 : 3
const LEVELS = 480
// Rounds of one tenth of a second; pings that are not answered end a connection after half a minute.
const STEP_MS = 100
const MAX_ROUNDS = 600
const TIMEOUT = { timeout: 180_000 }
const INSTRUMENT = { venue: 'venueb', market: 'DEEP', key: 'DEEP' } as const

it('a reader who stops is let go with a code; the others get every row', TIMEOUT, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-live-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tape = join(folder, 'data', 'tape.db')
  const store = openEmbeddedStore({ file: tape })
  onTestFinished(() => store.close())
  const { venue } = INSTRUMENT
  let position = 0
  // Books so deep that the buffers of the system are full after a few hundred rows.
  const append = async (rows: number): Promise<void> => {
    const received = (Date.now() * 1000) as Micros
    const first = ++position
    const levels = Array.from({ length: LEVELS }, (_, level) => level)
    const row = {
      instrument: INSTRUMENT,
      received,
      journal: first,
      source: -1,
      venueSeq: -1,
      channel: -1,
      flags: FLAGS.restart | FLAGS.full_book,
      priceDecimals: 4,
      keys: [
        ...levels.map((level) => levelKey('bid', 4999 - level)),
        ...levels.map((level) => levelKey('ask', 5000 + level)),
      ],
      sizes: Array.from({ length: 2 * LEVELS }, (_, level) => 1_234_567 + level),
    }
    await store.append({
      venue,
      position: first,
      origin: 'live',
      recorder: 'r1',
      normalizer: 1,
      observations: Array.from({ length: rows }, () => row),
      revisions: [
        {
          kind: 'market',
          received,
          journal: first,
          record: {
            venue,
            marketId: 'DEEP',
            status: 'open',
            outcomes: [],
            units: VENUES[venue].units,
            native: {},
          },
        },
      ],
    })
  }
  await append(1)
  const api = new LiveApi(tape)
  // The time of the server stands still while readers catch up, so none of them is slow by accident.
  const clock = new ManualClock()
  const worker = await api.start(0, { stream: { clock } })
  const url = `${worker.url.replace('http', 'ws')}/v3/stream`
  const clients: StreamClient[] = []
  for (let count = 0; count < READERS; count++) {
    const client = await new StreamClient(url, { key: api.key }).open()
    client.send({ op: 'subscribe', id: 's', venue, market_id: 'DEEP', datasets: ['books'] })
    await turnUntil(clock, () => client.messages.some(({ type }) => type === 'snapshots_done'))
    clients.push(client)
  }
  const [stalled, ...others] = clients as [StreamClient, ...StreamClient[]]
  stalled.socket.pause()
  const before = process.memoryUsage().rss
  const counts = others.map(() => 0)
  const lastOf = (client: StreamClient, index: number): number => {
    for (const message of client.messages.splice(0)) {
      expect(message.type).not.toBe('resync')
      if (message.type !== 'update') continue
      expect(message['previous_sequence']).toBe(message['sequence'] - 1)
      counts[index]!++
    }
    return counts[index]!
  }
  let rows = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await append(5)
    rows += 5
    await clock.advance(STEP_MS)
    await turnUntil(clock, () => others.every((client, index) => lastOf(client, index) >= rows))
    // The server has let it go once its connection is not counted any more.
    if (rows > 300 && worker.server.stream.pulse().connections < READERS) break
  }
  expect(worker.server.stream.pulse().connections).toBe(READERS - 1)
  expect(counts).toEqual(others.map(() => rows))
  // Bounded: a queue holds 4 MB at most, and those of the other readers are empty.
  expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000)
  expect(worker.errors).toEqual([])
  stalled.socket.resume()
  await stalled.close()
})

/** Lets sockets work until something holds, and the clock go on by a tick of the server now and then. */
async function turnUntil(clock: ManualClock, holds: () => boolean): Promise<void> {
  for (let turn = 1; !holds(); turn++) {
    await pause(2)
    // Rows that were stored after the last tick wait for the next one.
    if (turn % 50 === 0) await clock.advance(20)
  }
}
