import { describe, expect, it } from 'vitest'
import type { Gap } from '@priorbook/sdk/domain'
import { STREAM_MESSAGE_SCHEMAS, toMarketJson, type StreamMessage } from '@priorbook/sdk/wire'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { countOf } from '../../store/embedded/temp-folder.testing.ts'
import { createRandom } from '../../lib/random.testing.ts'
import {
  INSTRUMENTS,
  SCRIPTED_VENUES,
  type ScriptedVenue,
} from '../../store/store-script.testing.ts'
import type { AppendBatch, Store } from '../../store/store.ts'
import {
  createBatches,
  KEYS,
  PATHS,
  joined,
  readSeen,
  render,
  walk,
} from '../books/books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'
import { CATALOGUE_ROUTES } from '../routes/index.ts'
import { violations } from '../pages/schema.testing.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import {
  createContext,
  hashIds,
  micros,
  microsOf,
  open,
  play,
  Recorded,
  rowText,
  type Seen,
} from './replay.testing.ts'

const MARKETS: Readonly<Record<ScriptedVenue, string>> = {
  venuea: '5001',
  venueb: 'KXBTC-26AUG05-T1.5',
  venuec: '0xc0ffee',
}
const ALL = SCRIPTED_VENUES.map((venue) => ({ venue }))
// Named one by one: a family excludes markets that closed days before the range.
const NAMED = [
  { venue: 'venuec', market_id: '0xc0ffee' },
  { venue: 'venueb', market_id: 'KXETH-26AUG05' },
  { venue: 'venueb', market_id: 'KXBTC-26AUG05-T1.5' },
  { venue: 'venuea', market_id: '5001' },
]

// Half of the rows are sealed in chunks, half are in the tail.
async function createStore(
  seed: number,
  count: number,
): Promise<{ readonly store: Store; readonly api: TestCaller }> {
  const store = createTapeFolder().open()
  const { batches } = createBatches(seed, count)
  const half = batches.length >> 1
  await appendAll(store, batches.slice(0, half))
  await store.seal()
  await appendAll(store, batches.slice(half))
  return { store, api: createTestCaller([...BOOK_ROUTES, ...CATALOGUE_ROUTES], { store }) }
}

async function appendAll(store: Store, batches: readonly AppendBatch[]): Promise<void> {
  await Promise.all(batches.map((batch) => store.append(batch)))
}

describe('a replay of one market', () => {
  it.each(['venuea', 'venueb'] as const)('of %s equals the pages of REST', async (venue) => {
    const { store, api } = await createStore(7, 300)
    for (const [asked, query] of [
      [{}, ''],
      [
        { number_format: 'string', time_format: 'epoch_us' },
        '&number_format=string&time_format=epoch_us',
      ],
      [{ depth: 2 }, '&depth=2'],
    ] as const) {
      const url = `${PATHS[venue]}/snapshots?include_orderbook=true${query}`
      const pages = await walk(api, url, [1000])
      const markets = [{ venue, market_id: MARKETS[venue] }]
      const out = await play(createContext(store), { markets, ...asked })
      const rows = out.of('snapshot', 'update')
      expect(rows.length).toBeGreaterThan(200)
      expect(out.bookText === joined(pages)).toBe(true)
      expect(rows[0]).toMatchObject({
        type: 'snapshot',
        previous_sequence: null,
        key: KEYS[venue][0],
      })
      for (const [index, row] of rows.entries()) {
        if (index === 0) continue
        expect(row.type).toBe('update')
        expect(row.previous_sequence).toBe(rows[index - 1]!.sequence)
      }
    }
  })

  it('of venue C merges both tokens by time, then by token, then by sequence', async () => {
    const { store } = await createStore(8, 400)
    const seen = await readSeen(store, 'venuec')
    const place = KEYS.venuec.map((key) => KEYS.venuec.toSorted().indexOf(key))
    seen.sort(
      (a, b) =>
        a.received - b.received || place[a.lane]! - place[b.lane]! || a.sequence - b.sequence,
    )
    const whole = render(
      seen.map(({ part }) => part),
      'venuec',
      { ladders: true },
    )
    const out = await play(createContext(store), {
      markets: [{ venue: 'venuec', market_id: '0xc0ffee' }],
    })
    expect(new Set(out.of('snapshot').map(({ key }) => key))).toEqual(new Set(KEYS.venuec))
    expect(out.of('snapshot')).toHaveLength(2)
    expect(out.bookText === whole).toBe(true)
  })

  it.each(SCRIPTED_VENUES)(
    'of %s in mode changes is a snapshot and the rows of /changes',
    async (venue) => {
      const { store, api } = await createStore(9, 300)
      const markets = [{ venue, market_id: MARKETS[venue] }]
      const out = await play(createContext(store), { markets, mode: 'changes' })
      const rows = out.of('snapshot', 'update')
      expect(out.of('snapshot')).toHaveLength(KEYS[venue].length)
      const pages = await walk(api, `${PATHS[venue]}/changes`, [1000])
      const changes = new Map<string, string>()
      for (const { rows: text } of pages) {
        for (const row of JSON.parse(`[${text}]`) as { id: string }[]) {
          changes.set(row.id, JSON.stringify(row))
        }
      }
      expect(rows).toHaveLength(changes.size)
      const full = await play(createContext(store), { markets, datasets: ['books'] })
      const books = new Map<string, Map<string, number>>()
      for (const [index, seen] of full.of('snapshot', 'update').entries()) {
        const row = rows[index]!
        const { id, bids, asks } = seen.row as never as FullRow
        expect(row.row!['id']).toBe(id)
        const isSnapshot = row.type === 'snapshot'
        expect(JSON.stringify(row.row)).toBe(
          isSnapshot ? JSON.stringify(seen.row) : changes.get(id),
        )
        if (isSnapshot) {
          books.set(row.key!, toBook(bids, asks))
          continue
        }
        const book = books.get(row.key!)!
        if ((row.row!['flags'] as string[]).includes('restart')) book.clear()
        const { side, price, size } = row.row!['changes'] as Changes
        for (const [at, word] of side.entries()) {
          if (size[at] === 0) book.delete(`${word} ${price[at]}`)
          else book.set(`${word} ${price[at]}`, size[at]!)
        }
        expect(book).toEqual(toBook(bids, asks))
      }
    },
  )

  it('includes the trades and revisions that REST has', async () => {
    const { store, api } = await createStore(10, 300)
    for (const venue of ['venueb', 'venuec'] as const) {
      const out = await play(createContext(store), {
        markets: [{ venue, market_id: MARKETS[venue] }],
        start_time: '2026-08-05T00:00:00Z',
      })
      const trades = await walk(api, `${PATHS[venue]}/trades`, [1000])
      const texts = out.of('trade').map(rowText)
      expect(texts.length).toBeGreaterThan(20)
      // Compared as text: a JavaScript number would lose digits.
      const pages = joined(trades)
      expect(texts.join(',')).toHaveLength(pages.length)
      expect(texts.filter((text) => !pages.includes(text))).toEqual([])
      const revisions = await store.revisions(venue, MARKETS[venue], { limit: 1000 })
      const records = revisions.map((state) => JSON.stringify(toMarketJson(state)))
      expect(out.of('market').map(rowText)).toEqual(records)
    }
  })

  it('starts with the market record known at its start', async () => {
    const { store } = await createStore(11, 200)
    const [, second, third] = await store.revisions('venueb', MARKETS.venueb, { limit: 3 })
    const out = await play(createContext(store), {
      markets: [{ venue: 'venueb', market_id: MARKETS.venueb }],
      datasets: ['markets'],
      start_time: String(third!.knownAt - 1),
      end_time: String(third!.knownAt + 1),
    })
    const records = out.of('market').map(({ row }) => microsOf(row!['revision_time']))
    expect(records).toEqual([second!.knownAt, third!.knownAt])
  })
})

type Changes = { readonly side: string[]; readonly price: number[]; readonly size: number[] }
type Side = { readonly price: number[]; readonly size: number[] }
type FullRow = { readonly id: string; readonly bids: Side; readonly asks: Side }

function toBook(bids: Side, asks: Side): Map<string, number> {
  return new Map([
    ...bids.price.map((price, at) => [`bid ${price}`, bids.size[at]!] as const),
    ...asks.price.map((price, at) => [`ask ${price}`, asks.size[at]!] as const),
  ])
}

describe('a replay of many markets', { timeout: 600_000 }, () => {
  it('sends everything by time, kind, instrument and sequence', async () => {
    const { store } = await createStore(12, 500)
    const out = await play(createContext(store), { markets: ALL })
    const [first, ...rest] = out.messages
    expect(first).toMatchObject({
      type: 'replay_state',
      state: 'started',
      instruments: 5,
      markets: 4,
    })
    const finished = rest.pop()!
    const expected = await expectAll(store)
    expect(rest.map(nameOf)).toEqual(expected)
    const rows = out.of('snapshot', 'update', 'trade')
    expect(finished).toMatchObject({
      state: 'finished',
      rows: rows.length,
      ids_sha256: hashIds(rows),
    })
  })

  it('is deterministic, also when several run at once', async () => {
    const { store } = await createStore(13, 200)
    const context = createContext(store)
    const runs = await Promise.all(Array.from({ length: 4 }, () => play(context, { markets: ALL })))
    const texts = runs.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    expect(new Set(texts).size).toBe(1)
    expect(runs[0]!.last.rows).toBeGreaterThan(300)
  })

  it('covers the rows that were stored when it started', async () => {
    const store = createTapeFolder().open()
    const { batches } = createBatches(14, 300)
    await appendAll(store, batches.slice(0, 150))
    const newest = Math.max(...(await store.instruments()).map((facts) => facts.lastReceived))
    const context = createContext(store, newest + 1)
    const before = await play(context, { markets: ALL })
    const out = new Recorded()
    const replay = await open(context, { markets: ALL }, out)
    await appendAll(store, batches.slice(150))
    await store.seal()
    await replay.ended
    expect(out.last.ids_sha256).toBe(before.last.ids_sha256)
  })

  it('after a random seek equals a replay that starts there', async () => {
    const { store } = await createStore(15, 300)
    const context = createContext(store)
    const random = createRandom(5)
    const all = await play(context, { markets: NAMED })
    const times = all.of('snapshot', 'update', 'trade').map(({ row }) => row!['received_time'])
    for (let round = 0; round < countOf(50, 6); round++) {
      const pick = (): number =>
        microsOf(times[Math.floor(random() * times.length)]) + Math.floor(random() * 3) - 1
      const targets = [pick(), pick()]
      const out = new Recorded()
      const mode = round % 2 === 0 ? 'full' : 'changes'
      const replay = await open(context, { markets: NAMED, mode }, out)
      const turns = [Math.floor(random() * 400), Math.floor(random() * 400)]
      let held = turns.shift()!
      out.onMessage = ({ state }) => {
        if (state === 'sought') return true
        if (held-- > 0) return true
        const target = targets.shift()
        if (target === undefined) return true
        held = turns.shift() ?? Infinity
        queueMicrotask(() => replay.seek(micros(target)))
        return false
      }
      await replay.ended
      const sought = out.messages.findLastIndex(({ state }) => state === 'sought')
      const { time } = out.messages[sought]!
      const from = await play(context, { markets: NAMED, mode, start_time: time! })
      const texts = (list: readonly Seen[]): string[] => list.map(({ text }) => text)
      const got = texts(out.messages.slice(sought + 1, -1))
      const wanted = texts(from.messages.slice(1, -1))
      const different = got.findIndex((text, at) => text !== wanted[at])
      expect(different < 0 ? [] : [got[different], wanted[different]]).toEqual([])
      expect(got).toHaveLength(wanted.length)
      const sent = out.of('snapshot', 'update', 'trade')
      expect(out.last).toMatchObject({ rows: sent.length, ids_sha256: hashIds(sent) })
    }
  })
})

function nameOf(seen: Seen): string {
  if (seen.type === 'gap') {
    const { key, start_time: start, end_time: end, reason } = seen.gap!
    return `gap ${String(key)} ${microsOf(start)} ${end === null ? 'opens' : 'closes'} ${String(reason)}`
  }
  if (seen.type === 'market') {
    return `market ${String(seen.row!['market_id'])} ${microsOf(seen.row!['revision_time'])}`
  }
  return String(seen.row!['id'])
}

/** The names of all stored items, sorted into the documented order. */
async function expectAll(store: Store): Promise<string[]> {
  type Entry = { at: number; kind: number; index: number; sequence: number; name: string }
  const entries: Entry[] = []
  const order = ['5001', 'KXBTC-26AUG05-T1.5', 'KXETH-26AUG05']
  const keys = [...order, ...KEYS.venuec.toSorted()]
  for (const { venue, key } of INSTRUMENTS) {
    const index = keys.indexOf(key)
    const query = { venue, key, order: 'asc', limit: 1_000_000 } as const
    for (const { columns, firstSequence, from, to } of (await store.books(query)).runs) {
      for (let row = from; row < to; row++) {
        const sequence = firstSequence + row
        const at = columns.received[row]!
        entries.push({ at, kind: 2, index, sequence, name: `${venue}:${key}:${sequence}` })
      }
    }
    const { rows, ordinals } = await store.trades(query)
    for (const [row, sequence] of ordinals.entries()) {
      const name = `${venue}:${key}/trade:${sequence}`
      entries.push({ at: rows.received[row]!, kind: 3, index, sequence, name })
    }
  }
  for (const [index, marketId] of [...order, '0xc0ffee'].entries()) {
    const venue = INSTRUMENTS.find(({ market }) => market === marketId)!.venue
    let last = 0
    for (const state of await store.revisions(venue, marketId, { limit: 10_000 })) {
      last = Math.max(last, state.knownAt)
      const name = `market ${marketId} ${state.knownAt}`
      entries.push({ at: last, kind: 0, index, sequence: state.revision, name })
    }
  }
  for (const gap of await store.gaps({})) {
    const index = keys.indexOf(gap.key)
    const name = (word: string): string => `gap ${gap.key} ${gap.start} ${word} ${gap.reason}`
    const sequence = gap.afterSequence
    entries.push({ at: gap.start, kind: 4, index, sequence, name: name('opens') })
    if (gap.end === undefined) continue
    entries.push({ at: gap.end, kind: 1, index, sequence, name: name('closes') })
  }
  entries.sort(
    (a, b) => a.at - b.at || a.kind - b.kind || a.index - b.index || a.sequence - b.sequence,
  )
  expect(entries.filter(({ kind }) => kind === 1).length).toBeGreaterThan(3)
  return entries.map(({ name }) => name)
}

describe('messages of a replay', () => {
  it.each(['full', 'changes'] as const)('match their schemas (%s)', async (mode) => {
    const { store } = await createStore(21, 200)
    const out = await play(createContext(store), { markets: NAMED, mode })
    const types = new Set(out.messages.map(({ type }) => type))
    expect(types).toEqual(new Set(['replay_state', 'market', 'snapshot', 'update', 'trade', 'gap']))
    const wrong = out.messages.flatMap(({ text }) => {
      const message = JSON.parse(text) as StreamMessage
      return violations(STREAM_MESSAGE_SCHEMAS[message.type], message)
    })
    expect(wrong).toEqual([])
  })
})

describe('gaps of a replay', () => {
  it('open without an end and close with the stored times', async () => {
    const { store } = await createStore(16, 400)
    const out = await play(createContext(store), { markets: ALL, datasets: ['trades'] })
    const gaps = out.of('gap').map(({ gap }) => gap!)
    const stored = await store.gaps({})
    expect(gaps.filter(({ end_time: end }) => end === null)).toHaveLength(stored.length)
    expect(gaps.filter(({ end_time: end }) => end !== null)).toHaveLength(
      stored.filter(({ end }) => end !== undefined).length,
    )
    expect(out.of('snapshot', 'update', 'market')).toEqual([])
  })

  it('that are open at the start come first; those that end after the range do not close', async () => {
    const store = createTapeFolder().open()
    const { batches } = createBatches(17, 60)
    await appendAll(store, batches)
    const [facts] = await store.instruments('venueb')
    const begin = facts!.firstReceived
    const make = (
      key: string,
      start: number,
      end: number | undefined,
      reason: Gap['reason'],
    ): Gap => ({
      venue: 'venueb',
      scope: key === '' ? 'venue' : 'instrument',
      key,
      reason,
      start: micros(begin + start),
      ...(end === undefined ? {} : { end: micros(begin + end) }),
      afterSequence: 0,
      journal: 9000,
    })
    await store.append({
      venue: 'venueb',
      position: 9000,
      origin: 'live',
      recorder: 'r1',
      normalizer: 1,
      gaps: [
        make('', -500, 10, 'recorder_down'),
        make('', -900, -100, 'recorder_down'),
        make('', -800, 0, 'venue_silent'),
        make('', 5, 5, 'disconnected'),
        make('', 7, 100, 'quota'),
        ...Array.from({ length: 20 }, (_, at) => make('', -300 + at, 50 + at, 'corrupt')),
      ],
    })
    const out = await play(createContext(store), {
      markets: [{ venue: 'venueb', market_id: facts!.instrument.market }],
      datasets: ['markets'],
      start_time: String(begin),
      end_time: String(begin + 60),
    })
    const edges = out
      .of('gap')
      .filter(({ gap }) => gap!['key'] === null)
      .map(({ gap }) => {
        const { reason, start_time: start, end_time: end } = gap!
        return `${String(reason)} ${microsOf(start) - begin} ${end === null ? '-' : microsOf(end) - begin}`
      })
    expect(edges).toEqual([
      'recorder_down -500 -',
      ...Array.from({ length: 20 }, (_, at) => `corrupt ${-300 + at} -`),
      'disconnected 5 -',
      'disconnected 5 5',
      'quota 7 -',
      'recorder_down -500 10',
      ...Array.from({ length: 10 }, (_, at) => `corrupt ${-300 + at} ${50 + at}`),
    ])
  })
})

describe('a damaged chunk of a replay', () => {
  it.each(['full', 'changes'] as const)(
    'becomes a gap, followed by a snapshot (%s)',
    async (mode) => {
      const key = KEYS.venuec[0]!
      const folder = createTapeFolder()
      const writer = folder.open()
      const { batches } = createBatches(91, 400)
      await Promise.all(batches.map((batch) => writer.append(batch)))
      await writer.seal()
      const whole = await play(createContext(writer), { markets: NAMED })
      await writer.close()
      const [chunk] = folder.sql(
        `SELECT chunk.first, chunk.count, chunk.body FROM chunk
       JOIN stream ON stream.id = chunk.stream
       WHERE stream.key = ? AND stream.kind = 0 AND chunk.first > 1 AND chunk.count > 20 LIMIT 1`,
        key,
      )
      const { first, count, body } = chunk as Record<string, number>
      folder.sql('UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = ?', body!)
      const context = createContext(folder.open({ readOnly: true }))
      const out = await play(context, { markets: NAMED, mode })
      const lost = (seen: Seen): boolean =>
        seen.key === key &&
        seen.type !== 'trade' &&
        seen.sequence! >= first! &&
        seen.sequence! < first! + count!
      const rows = whole.of('snapshot', 'update', 'trade').filter((seen) => !lost(seen))
      expect(out.of('snapshot', 'update', 'trade').map(nameOf)).toEqual(rows.map(nameOf))
      const after = out.messages.findIndex(
        (seen) => seen.key === key && seen.sequence === first! + count!,
      )
      expect(out.messages[after]).toMatchObject({ type: 'snapshot', previous_sequence: first! - 1 })
      const corrupt = out.of('gap').filter(({ gap }) => gap!['reason'] === 'corrupt')
      expect(corrupt).toMatchObject([
        { gap: { key, after_sequence: first! - 1, end_time: null } },
        { gap: { key, after_sequence: first! - 1, end_time: expect.any(String) as string } },
      ])
      const [opened, closed] = corrupt.map((seen) => out.messages.indexOf(seen))
      const before = out.messages.findIndex(
        (seen) => seen.key === key && seen.sequence === first! - 1,
      )
      expect([before, opened!, closed!, after]).toEqual(
        [before, opened!, closed!, after].toSorted((a, b) => a - b),
      )
    },
  )
})

describe('the plan of a replay', () => {
  it('excludes rows before its window and adds a notice', async () => {
    const { store } = await createStore(18, 300)
    const context = createContext(store)
    const all = await play(context, { markets: NAMED })
    const middle = all.of('update')[200]!.row!['received_time'] as string
    const grant = createTestGrant({ windowStart: () => micros(microsOf(middle)) })
    const out = await play(context, { markets: NAMED }, grant)
    const from = await play(context, { markets: NAMED, start_time: middle })
    expect(out.messages[0]!.notices).toMatchObject([{ code: 'plan_window', window_start: middle }])
    expect(out.last.ids_sha256).toBe(from.last.ids_sha256)
    expect(out.last.rows).toBeLessThan(all.last.rows!)
    const none = await play(context, { markets: NAMED, end_time: middle }, grant)
    expect(none.messages.map(({ state }) => state)).toEqual(['started', 'finished'])
    expect(none.last.rows).toBe(0)
  })

  it('excludes markets of a family that it does not include', async () => {
    const { store } = await createStore(19, 100)
    const grant = createTestGrant({ allows: (_venue, asset) => asset === 'ETH' })
    const out = await play(createContext(store), { markets: [{ venue: 'venueb' }] }, grant)
    expect(new Set(out.of('snapshot').map(({ key }) => key))).toEqual(new Set(['KXETH-26AUG05']))
  })
})
