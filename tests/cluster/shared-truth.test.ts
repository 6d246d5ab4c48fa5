import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  toMicros,
  type Gap,
  type Instrument,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type Trade,
} from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { expect, onTestFinished, test } from 'vitest'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { checkShared, gatherShared } from './shared-truth.ts'

// The oracle of takeovers must see a trade that is missing, whichever way the venue told of it.

const INSTRUMENT: Instrument = { venue: 'venueb', market: 'M', key: 'M' }
const NOON = Date.UTC(2026, 7, 5, 12)
const FILL = { price: 5000, size: 1_000_000, taker: 'buy' } as const

/** Microseconds of a second after noon. */
const at = (second: number): Micros => toMicros((NOON + second * 1000) * 1000)

const payloadOf = (id: string) => ({ kind: 'trade', key: 'M', id, fill: FILL }) as const

/** The venue made a trade at this second. */
function made(second: number): TruthEntry {
  const time = NOON + second * 1000
  return { type: 'fill', venue: 'venueb', keys: ['M'], time, fill: FILL, at: at(second) }
}

/** A socket brought a trade at this second. */
function sent(id: string, second: number): TruthEntry {
  return {
    type: 'frame',
    venue: 'venueb',
    connection: 'c1',
    delivered: 'sent',
    bytes: 1,
    payloads: [payloadOf(id)],
    at: at(second),
  }
}

/** A request was answered at a second with a trade of another one. */
function answered(id: string, happened: number, second: number): TruthEntry {
  const time = new Date(NOON + happened * 1000).toISOString()
  return {
    type: 'answer',
    venue: 'venueb',
    request: `r${id}`,
    path: '/markets/trades',
    status: 200,
    cost: 1,
    bucket: 'default',
    made: at(second),
    bytes: 1,
    text: JSON.stringify({ trades: [{ trade_id: id, created_time: time }] }),
    payloads: [payloadOf(id)],
    at: at(second),
  }
}

/** Judges a tape from second 0 on, with a gap from 10 to 20, that holds one trade of second 5. */
async function judge(entries: readonly TruthEntry[], isAlone = false): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-oracle-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const book = { kind: 'snapshot', instrument: INSTRUMENT, bids: [], asks: [] } as const
  const row = new BookAssembler(INSTRUMENT).take({ ...book, received: at(0), journal: 1 })
  if (!('received' in row)) throw new Error('no book')
  const trade: Trade = {
    kind: 'trade',
    instrument: INSTRUMENT,
    tradeId: 'stored',
    price: 5000 as PriceTicks,
    size: 100 as SizeUnits,
    received: at(5),
    journal: 2,
  }
  const gap: Gap = {
    venue: 'venueb',
    scope: 'instrument',
    key: 'M',
    reason: 'venue_silent',
    start: at(10),
    end: at(20),
    afterSequence: 1,
    journal: 3,
    endJournal: 4,
  }
  const made = { venue: 'venueb', origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...made, position: 4, observations: [row], trades: [trade], gaps: [gap] })
  const truth = await gatherShared(entries, { isAlone })
  return (await checkShared(truth, store, at(100))).complaints
}

test('a stored trade, and one of a gap that a recorder which stood by fetched, are not missing', async () => {
  const entries = [made(5), sent('stored', 5), made(15), answered('late', 15, 30)]
  expect(await judge(entries)).toEqual([])
  expect(await judge([made(5), answered('stored', 5, 30)])).toEqual([])
})

test('a trade outside gaps is missing, by socket or by request', async () => {
  const missing = (id: string, second: number) => [
    `venueb:M: trade ${id} at ${at(second)} is missing`,
  ]
  expect(await judge([made(40), sent('lost', 40)])).toEqual(missing('lost', 40))
  expect(await judge([made(40), answered('lost', 40, 60)])).toEqual(missing('lost', 40))
  // The venue is late: what counts is when it happened here.
  expect(await judge([{ ...made(15), at: at(25) }, answered('lost', 15, 60)])).toEqual(
    missing('lost', 25),
  )
})

test('one recorder alone stores what it fetched after a gap', async () => {
  const entries = [made(15), answered('late', 15, 30)]
  expect(await judge(entries, true)).toEqual([`venueb:M: trade late at ${at(30)} is missing`])
})
