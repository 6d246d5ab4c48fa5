import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { POW10, VENUE_IDS, VENUES } from '../domain/index.ts'
import type { ChunkIdentity } from './book-codec.ts'
import { NO_HASH, openChunk } from './chunk.ts'
import { ABSENT, TradeColumns, type RowHead } from './columns.ts'
import { createNodePlatform } from './platform-node.ts'
import { decodeTrades, encodeTrades } from './trade-codec.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const platform = createNodePlatform(3)
const identity: ChunkIdentity = {
  venue: 'venueb',
  market: 'KX',
  key: 'KX',
  origin: 'live',
  recorder: 'r1',
  normalizer: 1,
  first: 1,
  previousHash: NO_HASH,
}

type TradeRow = {
  readonly head: RowHead
  readonly id: string
  readonly price: number
  readonly size: number
  readonly taker: number
}

describe('a trade chunk', () => {
  it('round-trips any trades exactly, for any range of rows', () => {
    fc.assert(
      fc.property(
        someTrades(),
        fc.constantFrom(...VENUE_IDS),
        fc.nat(),
        fc.nat(),
        (trades, venue, a, b) => {
          const from = a % trades.length
          const to = from + 1 + (b % (trades.length - from))
          const { bytes } = encodeTrades(
            columnsOf(trades),
            from,
            to,
            { ...identity, venue },
            platform,
          )
          const chunk = openChunk(bytes, platform)
          const into = new TradeColumns()
          decodeTrades(chunk, platform, into)
          expect(rowsOf(into)).toStrictEqual(trades.slice(from, to))
          expect(chunk.header).toMatchObject({
            kind: 'trade',
            venue,
            metric: '',
            count: to - from,
            changes: 0,
            changesBefore: 0,
            sizeDecimals: VENUES[venue].sizeDecimals,
          })
          const again = encodeTrades(into, 0, into.count, { ...identity, venue }, platform)
          expect(Buffer.compare(again.bytes, bytes)).toBe(0)
        },
      ),
      { numRuns: runsOf(150), seed: 1 },
    )
  })

  it('stores ids as 16 bytes only where every id is a UUID in canonical form', () => {
    const uuid = '0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071'
    const lengthOf = (...ids: string[]): number => {
      const trades = ids.map((id, at) => aRow(at, id))
      const { bytes } = encodeTrades(columnsOf(trades), 0, ids.length, identity, platform)
      const chunk = openChunk(bytes, platform)
      const into = new TradeColumns()
      decodeTrades(chunk, platform, into)
      expect(into.tradeId).toStrictEqual(ids)
      return chunk.sections.at(-1)!.rawLength
    }
    expect(lengthOf(uuid, uuid)).toBe(1 + 2 * 16)
    expect(lengthOf(uuid, uuid.toUpperCase())).toBe(1 + 2 * 37)
    expect(lengthOf(uuid, uuid.replace('a', 'A'))).toBe(1 + 2 * 37)
    expect(lengthOf(uuid.replaceAll('-', ''))).toBe(1 + 33)
    expect(lengthOf('', 'x')).toBe(1 + 1 + 2)
  })

  it.each([
    [[4800, 5200], 2],
    [[4800, 5210], 3],
    [[4801], 4],
    [[5000], 1],
    [[0], 0],
    [[10_000], 0],
  ])('stores prices %j at %i decimals', (prices, decimals) => {
    const trades = prices.map((price, at) => ({ ...aRow(at, 'x'), price }))
    const { bytes } = encodeTrades(columnsOf(trades), 0, prices.length, identity, platform)
    const chunk = openChunk(bytes, platform)
    expect(chunk.header.priceDecimals).toBe(decimals)
    const into = new TradeColumns()
    decodeTrades(chunk, platform, into)
    expect(into.price).toStrictEqual(prices)
  })
})

function someTrades(): fc.Arbitrary<TradeRow[]> {
  const one = POW10[4]!
  const trade = fc.record({
    step: fc.oneof(fc.constant(0), fc.nat(5_000_000)),
    latency: fc.option(fc.nat(100_000)),
    venueSeq: fc.option(fc.maxSafeNat().map((value) => value % 2 ** 51)),
    journal: fc.nat(2 ** 40),
    flags: fc.nat(65_535),
    text: fc.oneof(fc.string({ unit: 'binary' }), fc.string({ maxLength: 3 })),
    uuid: fc.uuid(),
    price: fc.oneof(
      fc.integer({ min: 0, max: one }),
      fc.nat(100).map((cents) => cents * 100),
    ),
    size: fc.oneof(fc.nat(1000), fc.maxSafeNat()),
    taker: fc.nat(2),
  })
  const list = fc.array(trade, { minLength: 1, maxLength: 30 })
  return fc.tuple(list, fc.boolean()).map(([rows, uuids]) => {
    let received = 1_785_931_200_000_000
    return rows.map(
      ({ step, latency, venueSeq, journal, flags, text, uuid, price, size, taker }) => {
        received += step
        const source = latency === null ? ABSENT : received - latency
        const numbers = { venueSeq: venueSeq ?? ABSENT, channel: ABSENT, journal, flags }
        return {
          head: { received, source, ...numbers },
          id: uuids ? uuid : text,
          price,
          size,
          taker,
        }
      },
    )
  })
}

function aRow(at: number, id: string): TradeRow {
  const received = 1_785_931_200_000_000 + at
  const head = { received, source: ABSENT, venueSeq: ABSENT, channel: 1, journal: at, flags: 0 }
  return { head, id, price: 4800, size: 1, taker: 0 }
}

function columnsOf(trades: readonly TradeRow[]): TradeColumns {
  const columns = new TradeColumns()
  for (const { head, id, price, size, taker } of trades) columns.push(head, id, price, size, taker)
  return columns
}

function rowsOf(columns: TradeColumns): TradeRow[] {
  return columns.tradeId.map((id, row) => ({
    head: {
      received: columns.received[row]!,
      source: columns.source[row]!,
      venueSeq: columns.venueSeq[row]!,
      channel: columns.channel[row]!,
      journal: columns.journal[row]!,
      flags: columns.flags[row]!,
    },
    id,
    price: columns.price[row]!,
    size: columns.size[row]!,
    taker: columns.taker[row]!,
  }))
}
