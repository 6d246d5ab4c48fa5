import { cpSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { FLAGS } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { readJournal, readRecord } from '@priorbook/sdk/journal'
import type { DataFolder } from '../../../lib/data-folder.ts'
import { openEmbeddedStore } from '../open.ts'
import { catchUp } from '../../../recorder/catch-up.ts'
import type { CaptureNote } from '../../../venues/capture/contract.ts'
import { merge, mergeDifferences, bookAt, hear, TICKER, type Said } from './merge.testing.ts'
import {
  booksOf,
  createDataFolder,
  gapsOf,
  read,
  record,
  START_MS,
  type Script,
} from '../../../recorder/scripted.testing.ts'

const OTHER = 'KXTEST15M-26SEP211200-30'
const CONDITION = `0x${'ab'.repeat(32)}`
const UP = `1${'0'.repeat(75)}1`
const iso = (ms: number): string => new Date(START_MS + ms).toISOString()

function folders(): [DataFolder, DataFolder, DataFolder] {
  return [createDataFolder(), createDataFolder(), createDataFolder()]
}

/** Says a step at its ms after the start. */
function play(script: Script, steps: readonly (readonly [number, () => void])[]): void {
  let now = 0
  for (const [at, step] of steps) {
    script.wait(at - now)
    now = at
    step()
  }
}

/** Messages of venue B. */
function venueB(script: Script) {
  let seq = 0
  const send = (type: string, msg: object): void =>
    script.frame(1, { type, sid: 1, seq: ++seq, msg })
  return {
    connect: () => {
      script.note({ note: 'connected', slot: 1, url: 'ws://b' })
      seq = 0
    },
    lose: () => script.note({ note: 'loss', reason: 'disconnected', why: 'cut', slot: 1 }),
    full: (yes: string, ticker = TICKER) =>
      send('orderbook_snapshot', {
        market_ticker: ticker,
        yes_dollars_fp: [[yes, '10.00']],
        no_dollars_fp: [['0.1000', '20.00']],
      }),
    change: (price: string, by: string, ticker = TICKER) =>
      send('orderbook_delta', {
        market_ticker: ticker,
        price_dollars: price,
        delta_fp: by,
        side: 'yes',
      }),
    trade: (id: string) =>
      send('trade', {
        market_ticker: TICKER,
        trade_id: id,
        yes_price_dollars: '0.4500',
        no_price_dollars: '0.5500',
        count_fp: '1.00',
        taker_side: 'yes',
      }),
    market: (status: string, ticker = TICKER, more = {}) =>
      script.answer(
        { kind: 'market' },
        { market: { ticker, event_ticker: 'E', status, open_time: iso(-5000), ...more } },
      ),
  }
}

describe('merged trades', () => {
  it('are those of the first recorder, and of the other what it missed and never got', async () => {
    const [a, b, target] = folders()
    await record(
      a,
      'venueb',
      (script) => {
        const v = venueB(script)
        play(script, [
          [0, () => v.connect()],
          [0, () => v.full('0.4000')],
          [10, () => v.trade('t1')],
          [20, () => v.change('0.3000', '1.00')],
          [21, () => v.lose()],
          [50, () => v.connect()],
          [50, () => v.full('0.4000')],
          // Got after all, late.
          [60, () => v.trade('t3')],
          [70, () => v.trade('t5')],
          [80, () => v.change('0.3100', '1.00')],
        ])
      },
      { recorder: 'a' },
    )
    await record(
      b,
      'venueb',
      (script) => {
        const v = venueB(script)
        play(script, [
          [0, () => v.connect()],
          [0, () => v.full('0.4000')],
          [12, () => v.trade('t1')],
          // The first recorder saw well and does not have it.
          [15, () => v.trade('t0')],
          [25, () => v.trade('t2')],
          [30, () => v.trade('t3')],
          [35, () => v.trade('t4')],
          [40, () => v.trade('t5')],
          [79, () => v.change('0.3100', '1.00')],
        ])
      },
      { recorder: 'b' },
    )
    const report = await merge(target, b, a)
    const page = await read(target, (store) =>
      store.trades({ venue: 'venueb', key: TICKER, order: 'asc', limit: 100 }),
    )
    expect(page.rows.tradeId).toEqual(['t1', 't2', 't4', 't3', 't5'])
    expect(report.trades).toEqual({ rows: 5, filled: 2, repeated: 2 })
    const ids = [...page.rows.journal.subarray(0, 5)].map((journal) => {
      const raw = readRecord({ dir: target.journal, venue: 'venueb' }, journal)!
      const { msg } = JSON.parse(Buffer.from(raw.bytes).toString()) as { msg: { trade_id: string } }
      return `${raw.recorder} ${msg.trade_id}`
    })
    expect(ids).toEqual(['a t1', 'b t2', 'b t4', 'a t3', 'a t5'])
  })
})

describe('merged samples, markets and refused messages', () => {
  it('are filled only while the first recorder did not run', async () => {
    const [a, b, target] = folders()
    const clock = (script: Script, offset: number) => () =>
      script.note({ note: 'clock', offset_us: offset, round_trip_us: 300, step_us: 1000 })
    await record(a, 'venueb', (script) => play(script, [[10, clock(script, 1)]]), { recorder: 'a' })
    // Time goes by while it does not run.
    const idle = { recorder: 'idle', fresh: false }
    await record(createDataFolder(), 'venueb', (script) => script.wait(30), idle)
    const later = (script: Script): void =>
      play(script, [
        [10, clock(script, 3)],
        [20, () => venueB(script).connect()],
      ])
    await record(a, 'venueb', later, { recorder: 'a', fresh: false })
    await record(
      b,
      'venueb',
      (script) =>
        play(
          script,
          [5, 20, 45, 55, 70, 80].map((at) => [at, clock(script, -at)] as const),
        ),
      { recorder: 'b' },
    )
    await merge(target, a, b)
    const { rows } = await read(target, (store) =>
      store.samples({
        venue: 'venueb',
        key: 'clock',
        metric: 'clock_offset_us',
        order: 'asc',
        limit: 100,
      }),
    )
    expect(rows.value.map((value) => value / 1e8)).toEqual([1, -20, 3, -70, -80])
    const at = [...rows.received.subarray(0, 5)].map((time) => time / 1000 - START_MS)
    expect(at).toEqual([10, 20, 50, 70, 80])
  })

  it('of reference prices are filled in their gaps, which stay where both were blind', async () => {
    const [a, b, target] = folders()
    const slot = 248
    const hear = async (data: DataFolder, recorder: string, heard: readonly number[]) =>
      record(
        data,
        'venuec',
        (script) => {
          const say = (at: number) => (): void => {
            if (!heard.includes(at)) return
            const payload = { symbol: 'btc/usd', timestamp: START_MS + at, value: 64_000 + at }
            script.frame(slot, { topic: 'crypto_prices_chainlink', type: 'update', payload })
          }
          const lose = (): void => {
            script.note({ note: 'loss', reason: 'disconnected', why: 'gone', slot })
            script.note({ note: 'connected', slot, url: 'ws://rtds' })
          }
          script.note({ note: 'connected', slot, url: 'ws://rtds' })
          play(script, [
            ...[10, 20].map((at) => [at, say(at)] as const),
            [25, () => heard.includes(30) || lose()],
            ...[30, 40, 50, 60, 70, 80].map((at) => [at, say(at)] as const),
            [85, () => heard.includes(90) || lose()],
            ...[90, 100].map((at) => [at, say(at)] as const),
          ])
        },
        { recorder },
      )
    await hear(a, 'a', [10, 20, 60, 70, 100])
    await hear(b, 'b', [10, 20, 30, 40, 50, 60, 70, 80])
    await merge(target, a, b)
    const key = 'reference/chainlink/BTC'
    const [{ rows }, gaps] = await read(target, async (store) => [
      await store.samples({ venue: 'venuec', key, metric: 'price', order: 'asc', limit: 100 }),
      await store.gaps({ venue: 'venuec', key }),
    ])
    const received = [...rows.received.subarray(0, rows.count)]
    expect(received.map((time) => time / 1000 - START_MS)).toEqual([
      10, 20, 30, 40, 50, 60, 70, 80, 100,
    ])
    expect(
      gaps.map(({ reason, start, end = NaN, afterSequence }) =>
        [reason, start / 1000 - START_MS, end / 1000 - START_MS, afterSequence].join(' '),
      ),
    ).toEqual(['disconnected 80 100 8', 'recorder_down 100 NaN 9'])
    const marked = received.flatMap((_, row) => (rows.flags[row]! & FLAGS.after_gap ? row : []))
    expect(marked).toEqual([8])
  })

  it('of a price history come once, with the gaps of every recorder', async () => {
    const [a, b, target] = folders()
    const minute = (at: number): number => START_MS / 1000 + at * 60
    const fetch = async (
      data: DataFolder,
      recorder: string,
      ends: readonly number[],
      missing: readonly (readonly [number, number])[],
    ) =>
      record(
        data,
        'venueb',
        (script) => {
          const span = { since: minute(-100) * 1e6, until: minute(100) * 1e6 }
          const candlesticks = ends.map((end) => ({
            end_period_ts: minute(end),
            price: { close_dollars: (0.5 + end / 100).toFixed(4) },
          }))
          play(script, [
            [0, () => venueB(script).market('active')],
            [
              5,
              () =>
                script.answer(
                  { kind: 'history_candles', ticker: TICKER, minutes: 1, ...span },
                  { ticker: TICKER, candlesticks },
                ),
            ],
          ])
          for (const [from, to] of missing) {
            // Notes of a backfill, which no connector writes.
            const [start, end] = [minute(from) * 1e6, minute(to) * 1e6]
            const gap = { note: 'history_gap', market: TICKER, start, end, why: 'no' }
            script.note(gap as unknown as CaptureNote)
            script.note({ ...gap, of: 'prices' } as unknown as CaptureNote)
          }
          // It runs for longer than the times of some values.
          script.wait(600_000)
          venueB(script).connect()
        },
        { recorder },
      )
    await fetch(a, 'a', [-3, -2, 1, 2], [[-9, -8]])
    await fetch(
      b,
      'b',
      [-3, -2, -1, 1, 2, 3],
      [
        [-9, -8],
        [-7, -6],
      ],
    )
    const report = await merge(target, a, b)
    const key = `backfill/${TICKER}`
    const { rows } = await read(target, (store) =>
      store.samples({ venue: 'venueb', key, metric: 'close', order: 'asc', limit: 100 }),
    )
    const received = [...rows.received.subarray(0, rows.count)]
    expect(received.map((time) => (time / 1000 - START_MS) / 60_000)).toEqual([-3, -2, -1, 1, 2, 3])
    expect([...rows.flags.subarray(0, rows.count)]).toEqual([0, 0, 0, 0, 0, 0])
    expect(report.samples).toEqual({ rows: 6, filled: 2, repeated: 4 })
    for (const name of [key, `backfill/prices/${TICKER}`]) {
      expect(await gapsOf(target, 'venueb', name)).toEqual([
        'unavailable -540000–-480000',
        'unavailable -420000–-360000',
      ])
    }
    const again = createDataFolder()
    await merge(again, b, a)
    expect(await mergeDifferences(target, again)).toEqual([])
  })

  it('keep both histories by time, and every refused message', async () => {
    const [a, b, target] = folders()
    const hearOf = async (data: DataFolder, recorder: string, shift: number): Promise<void> => {
      await record(
        data,
        'venueb',
        (script) => {
          const v = venueB(script)
          play(script, [
            [shift, () => v.market('active', TICKER, { title: 'one' })],
            [10 + shift, () => v.market('active', TICKER, { title: `two by ${recorder}` })],
            [20 + shift, () => v.connect()],
            [20 + shift, () => script.text(1, `not JSON for ${recorder}`)],
            [30 + shift, () => v.market('closed', TICKER, { title: 'three' })],
          ])
        },
        { recorder },
      )
    }
    await hearOf(a, 'a', 0)
    await hearOf(b, 'b', 5)
    const report = await merge(target, a, b)
    await read(target, async (store) => {
      const states = await store.revisions('venueb', TICKER, { limit: 100 })
      const known = states.map(
        ({ knownAt, record: { status, title } }) =>
          `${knownAt / 1000 - START_MS} ${status} ${title}`,
      )
      expect(known).toEqual([
        '0 open one',
        '10 open two by a',
        '15 open two by b',
        '30 closed three',
      ])
      expect(await store.market('venueb', TICKER, (START_MS + 12) * 1000)).toMatchObject({
        record: { title: 'two by a' },
      })
      const refused = await store.quarantine({ limit: 10 })
      expect(refused.map(({ raw }) => Buffer.from(raw).toString())).toEqual([
        'not JSON for a',
        'not JSON for b',
      ])
      for (const { raw, journal } of refused) {
        const kept = readRecord({ dir: target.journal, venue: 'venueb' }, journal)!
        expect(Buffer.from(kept.bytes)).toEqual(Buffer.from(raw))
      }
    })
    expect(report).toMatchObject({ markets: 1, quarantined: 2, instruments: 0 })
  })
})

describe('gaps of a merged tape', () => {
  it('stay as they are where one recorder alone knows the instrument', async () => {
    const [a, b, target] = folders()
    await record(
      a,
      'venueb',
      (script) => {
        const v = venueB(script)
        play(script, [
          [0, () => v.market('active', OTHER)],
          [0, () => v.connect()],
          [5, () => v.full('0.4000', OTHER)],
          [10, () => v.lose()],
          // Nobody ever sees a full book of this one.
          [15, () => v.connect()],
          [15, () => v.change('0.2000', '1.00', 'KXALONE-1')],
          [20, () => v.full('0.4100', OTHER)],
          [30, () => v.market('closed', OTHER)],
        ])
      },
      { recorder: 'a' },
    )
    await record(
      b,
      'venueb',
      (script) => {
        const v = venueB(script)
        play(script, [
          [0, () => v.connect()],
          [0, () => v.full('0.4000')],
          [100, () => v.change('0.3000', '1.00')],
        ])
      },
      { recorder: 'b' },
    )
    await merge(target, a, b)
    for (const [key, from] of [
      [OTHER, a],
      [TICKER, b],
      ['KXALONE-1', a],
    ] as const) {
      const gaps = await gapsOf(from, 'venueb', key)
      expect(gaps.length).toBeGreaterThan(0)
      expect(await gapsOf(target, 'venueb', key)).toEqual(gaps)
      expect(await booksOf(target, 'venueb', key)).toEqual(await booksOf(from, 'venueb', key))
    }
    expect(await gapsOf(target, 'venueb', OTHER)).toEqual([
      'before_capture -5000–5',
      'disconnected 5–20',
      'market_closed 20–',
    ])
  })

  it('keep doubtful rows where all recorders were blind, and replace them where one was not', async () => {
    const [a, b, target] = folders()
    const level = (price: string, size = '1') => ({ price, size })
    const venueC = (script: Script) => {
      const head = (at: number) => ({ market: CONDITION, timestamp: String(START_MS + at) })
      return {
        connect: () => script.note({ note: 'connected', slot: 1, url: 'ws://c' }),
        lose: () => script.note({ note: 'loss', reason: 'disconnected', why: 'cut', slot: 1 }),
        book: (at: number, ...bids: string[]) =>
          script.frame(1, {
            ...head(at),
            event_type: 'book',
            asset_id: UP,
            hash: 'a'.repeat(40),
            bids: bids.map((price) => level(price)),
            asks: [level('0.6')],
          }),
        change: (at: number, price: string, best: string) =>
          script.frame(1, {
            ...head(at),
            event_type: 'price_change',
            price_changes: [
              {
                asset_id: UP,
                ...level(price),
                side: 'BUY',
                hash: 'b',
                best_bid: best,
                best_ask: '0.6',
              },
            ],
          }),
      }
    }
    await record(
      a,
      'venuec',
      (script) => {
        const v = venueC(script)
        play(script, [
          [0, () => v.connect()],
          [0, () => v.book(0, '0.4')],
          [10, () => v.change(10, '0.1', '0.4')],
          [20, () => v.change(20, '0.2', '0.4')],
          // 0.45 was lost some time since the last full book.
          [30, () => v.change(30, '0.3', '0.45')],
          [40, () => v.book(40, '0.45', '0.4')],
          [50, () => v.change(50, '0.11', '0.45')],
        ])
      },
      { recorder: 'a' },
    )
    await record(
      b,
      'venuec',
      (script) => {
        const v = venueC(script)
        play(script, [
          [0, () => v.connect()],
          [0, () => v.book(0, '0.4')],
          [12, () => v.change(11, '0.45', '0.45')],
          [15, () => v.lose()],
          [35, () => v.connect()],
          [35, () => v.book(34, '0.45', '0.2')],
          [60, () => v.change(59, '0.12', '0.45')],
        ])
      },
      { recorder: 'b' },
    )
    expect(await gapsOf(a, 'venuec', UP)).toEqual(['sequence_break 0–40', 'recorder_down 50–'])
    await merge(target, a, b)
    expect(await booksOf(target, 'venuec', UP)).toEqual([
      '0: 0.4×1 | 0.6×1',
      '12: 0.45×1 0.4×1 | 0.6×1',
      '20: 0.4×1 0.2×1 0.1×1 | 0.6×1',
      '35: 0.45×1 0.2×1 | 0.6×1',
      '40: 0.45×1 0.4×1 | 0.6×1',
      '50: 0.45×1 0.4×1 0.11×1 | 0.6×1',
      '60: 0.45×1 0.2×1 0.12×1 | 0.6×1',
    ])
    expect(await gapsOf(target, 'venuec', UP)).toEqual([
      'sequence_break 12–35',
      'recorder_down 60–',
    ])
    const [left] = await read(target, (store) => store.gaps({ venue: 'venuec', key: UP }))
    expect(left).toMatchObject({ afterSequence: 2, sourceStart: (START_MS + 11) * 1000 })
    expect((await read(target, (store) => store.verify())).problems).toEqual([])
  })
})

describe('a recorder that ended without a word', () => {
  const said: Said[] = Array.from({ length: 40 }, (_, index) =>
    index === 0 ? { at: 0 } : { at: index * 10, change: { cents: 1 + (index % 9), by: 1 } },
  )

  it('is blind from its last record on, and what it applies later waits for the next merge', async () => {
    const [a, b, target] = folders()
    await hear(a, 'a', said, [])
    await hear(b, 'b', said, [])
    // As after a kill: the journal is ahead of the tape and has no `stopped` note.
    const killed = createDataFolder()
    cpSync(a.journal, killed.journal, { recursive: true })
    const store = openEmbeddedStore({ file: killed.tape })
    await catchUp(store, killed.journal, 'venueb', undefined, 20)
    await store.close()
    expect(await gapsOf(killed, 'venueb', TICKER)).toEqual([])
    await merge(target, killed, b)
    expect(await booksOf(target, 'venueb', TICKER)).toEqual(
      said.map(({ at }) => `${at}: ${bookAt(said, at)}`),
    )
    expect(await gapsOf(target, 'venueb', TICKER)).toEqual(['recorder_down 390–'])
    const recorders = [...readJournal({ dir: target.journal, venue: 'venueb' })].flatMap((block) =>
      block.kind === 'block' ? Array.from({ length: block.count }, () => block.recorder) : [],
    )
    expect(recorders.filter((recorder) => recorder === 'a')).toHaveLength(20)
    expect(recorders.slice(0, 20)).toEqual(recorders.slice(0, 20).fill('a'))
  })

  it('gives the same tape whether it was sealed or not', async () => {
    const [a, b, target] = folders()
    await hear(a, 'a', said, [{ from: 55.5, to: 105.5, kind: 'down' }])
    await hear(b, 'b', said, [])
    await merge(target, a, b)
    for (const data of [a, b]) {
      const store = openEmbeddedStore({ file: data.tape })
      await store.seal()
      await store.close()
    }
    const again = createDataFolder()
    await merge(again, a, b)
    expect(await mergeDifferences(target, again)).toEqual([])
  })
})

describe('long tapes', () => {
  const said: Said[] = Array.from({ length: 5000 }, (_, index) =>
    index === 0
      ? { at: 0 }
      : {
          at: index,
          change: { cents: 1 + ((index - 1) % 40), by: (index - 1) % 80 < 40 ? 3 : -3 },
        },
  )

  it('are read in pages, and a damaged chunk of one is filled from the other', async () => {
    const [a, b, target] = folders()
    await hear(a, 'a', said, [{ from: 3500.5, to: 4500.5, kind: 'noticed' }])
    await hear(b, 'b', said, [])
    const store = openEmbeddedStore({ file: a.tape })
    await store.seal()
    await store.close()
    const database = new DatabaseSync(a.tape)
    const third = 'SELECT body FROM chunk ORDER BY stream, first LIMIT 1 OFFSET 2'
    database.exec(`UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = (${third})`)
    database.close()
    const report = await merge(target, a, b)
    expect(report.books.filled).toBe(1000 + 1024)
    const books = await booksOf(target, 'venueb', TICKER)
    const times = [...said.map(({ at }) => at), 4500.5].sort((one, other) => one - other)
    expect(books.map((book) => Number(book.split(':')[0]))).toEqual(times)
    for (let row = 0; row < books.length; row += 97) {
      expect(books[row]).toBe(`${times[row]}: ${bookAt(said, times[row]!)}`)
    }
    expect(await gapsOf(target, 'venueb', TICKER)).toEqual(['recorder_down 4999–'])
    expect((await read(target, (merged) => merged.verify())).problems).toEqual([])
    expect(readdirSync(dirname(target.path))).toEqual(['data'])
  })
})
