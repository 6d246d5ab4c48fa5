import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport, AuditTarget, VenueId } from '@priorbook/sdk/domain'
import { listSegments } from '@priorbook/sdk/journal/format'
import { describe, expect, it } from 'vitest'
import { moveAway, openJournalWriter, readJournal } from '../journal/index.ts'
import { openObjects } from '../objects/open-objects.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import {
  BOOK_REQUEST,
  bookObject,
  LAST_TRADE_REQUEST,
  MARKET_ID,
  topicObject,
  UP_TOKEN,
} from '../venues/venuea/fixtures.testing.ts'
import { createAuditor } from './audit.ts'
import { merge } from '../store/embedded/merge/merge.testing.ts'
import { createDataFolder, read, record, type Script } from '../recorder/scripted.testing.ts'

const TICKER = 'KXTEST15M-26SEP211200-15'
const CONDITION = `0x${'ab'.repeat(32)}`
const TOKEN = `1${'0'.repeat(75)}1`

function audit(data: DataFolder, target: AuditTarget): Promise<AuditReport | undefined> {
  return read(data, (store) => createAuditor(store, data.journal)(target))
}

function book(key: string, sequence: number, venue: VenueId = 'venueb'): AuditTarget {
  return { venue, key, kind: 'book', sequence }
}

/** A full book, two changes and a trade of venue B. */
function playVenueB(script: Script): void {
  let seq = 0
  const send = (type: string, msg: object): void =>
    script.frame(1, { type, sid: 1, seq: ++seq, msg: { market_ticker: TICKER, ...msg } })
  script.note({ note: 'connected', slot: 1, url: 'ws://b' })
  send('orderbook_snapshot', {
    yes_dollars_fp: [['0.4000', '10.00']],
    no_dollars_fp: [['0.5000', '20.00']],
  })
  script.wait(10)
  send('orderbook_delta', { price_dollars: '0.4100', delta_fp: '5.00', side: 'yes' })
  script.wait(10)
  send('orderbook_delta', { price_dollars: '0.4000', delta_fp: '-10.00', side: 'yes' })
  send('trade', {
    trade_id: 't1',
    yes_price_dollars: '0.4500',
    no_price_dollars: '0.5500',
    count_fp: '1.00',
    taker_side: 'no',
  })
}

async function venueBFolder(): Promise<DataFolder> {
  const data = createDataFolder()
  await record(data, 'venueb', playVenueB)
  return data
}

function segmentsOf(data: DataFolder): string[] {
  const dir = join(data.journal, 'venueb')
  return readdirSync(dir).map((name) => join(dir, name))
}

/** Writes a journal again with a file for each record; returns the numbers of messages. */
function splitJournal({ journal: dir }: DataFolder, venue: VenueId): readonly number[] {
  const blocks = [...readJournal({ dir, venue })].filter((item) => item.kind === 'block')
  rmSync(join(dir, venue), { recursive: true })
  const made = { origin: 'emulator', recorder: 'r1', sync: false, segmentBytes: 1 } as const
  const writer = openJournalWriter({ dir, venue, ...made })
  const messages: number[] = []
  for (const { count, received, kinds, bytes, slots } of blocks) {
    for (let at = 0; at < count; at++) {
      const number = writer.append(received[at]!, kinds[at]!, bytes[at]!, slots[at])
      if (kinds[at] === 'message') messages.push(number)
      writer.commit()
    }
  }
  writer.close()
  expect(listSegments(dir, venue)).toHaveLength(writer.committed)
  return messages
}

/** Moves the files before a record to another storage; returns its folder. */
async function moveBefore({ journal: dir }: DataFolder, venue: VenueId, number: number) {
  const archive = join(createDataFolder().path, 'archive')
  const now = Date.now() * 1000
  const times = { before: now, now, keepUnused: now }
  const objects = openObjects(archive, {})
  const order = { dir, venue, objects, owner: 1, packed: number - 1, ...times }
  expect(await moveAway(order)).toMatchObject({ files: number - 1, failures: [] })
  return archive
}

describe('the auditor', () => {
  it('gives the raw bytes of full books, changes and trades, which give the rows again', async () => {
    const data = await venueBFolder()
    for (const sequence of [1, 2, 3]) {
      const report = await audit(data, book(TICKER, sequence))
      expect(report).toMatchObject({ state: 'equal', differences: [] })
      expect(report?.derived).toEqual(report?.stored)
      const raw = JSON.parse(Buffer.from(report!.raw!.bytes).toString()) as { seq: number }
      expect(raw.seq).toBe(sequence)
      expect(report?.raw).toMatchObject({ slot: 1, origin: 'emulator', recorder: 'r1' })
      expect(report?.raw).not.toHaveProperty('request')
    }
    expect((await audit(data, book(TICKER, 3)))?.stored).toEqual({
      bids: { price: ['0.41'], size: ['5'] },
      asks: { price: ['0.5'], size: ['20'] },
    })
    const trade = await audit(data, { venue: 'venueb', key: TICKER, kind: 'trade', sequence: 1 })
    expect(trade).toMatchObject({
      state: 'equal',
      stored: {
        trade_id: 't1',
        price: '0.45',
        size: '1',
        taker_side: 'sell',
        native: { taker_side: 'no', yes_price_dollars: '0.4500' },
      },
    })
  })

  it('knows no rows that are not stored', async () => {
    const data = await venueBFolder()
    expect(await audit(data, book(TICKER, 4))).toBeUndefined()
    expect(await audit(data, book('OTHER', 1))).toBeUndefined()
    const trade = { venue: 'venueb', key: TICKER, kind: 'trade', sequence: 2 } as const
    expect(await audit(data, trade)).toBeUndefined()
    const sample = {
      venue: 'venueb',
      key: TICKER,
      kind: 'sample',
      metric: 'chance',
      sequence: 1,
    } as const
    expect(await audit(data, sample)).toBeUndefined()
  })

  it('shows what was asked in front of an answer', async () => {
    const data = createDataFolder()
    await record(data, 'venuea', (script) => {
      script.answer({ kind: 'topic', topic_id: 1 }, topicObject())
      script.wait(10)
      script.answer(BOOK_REQUEST, bookObject())
      script.answer(LAST_TRADE_REQUEST, { marketId: MARKET_ID, lastTradePrice: '0.53' })
    })
    const report = await audit(data, book(String(MARKET_ID), 1, 'venuea'))
    expect(report).toMatchObject({ state: 'equal', raw: { slot: 0, request: BOOK_REQUEST } })
    const last = {
      venue: 'venuea',
      key: UP_TOKEN,
      kind: 'sample',
      metric: 'last_trade',
      sequence: 1,
    } as const
    expect(await audit(data, last)).toMatchObject({
      state: 'equal',
      stored: { last_trade: '0.53' },
      raw: { request: LAST_TRADE_REQUEST },
    })
    const chance = await audit(data, { ...last, metric: 'chance' })
    expect(chance).toMatchObject({ state: 'equal', stored: { chance: '0.52' } })
  })

  it('needs the file before a message only where that has the request of it', async () => {
    const data = await venueBFolder()
    const messages = splitJournal(data, 'venueb')
    const { journal: number } = (await audit(data, book(TICKER, 2)))!
    expect(messages).toContain(number)
    const archive = await moveBefore(data, 'venueb', number)
    renameSync(archive, `${archive}.gone`)
    // Its own record is here; the one before it is not.
    expect(await audit(data, book(TICKER, 2))).toMatchObject({ state: 'equal', raw: { slot: 1 } })
    await expect(audit(data, book(TICKER, 1))).rejects.toMatchObject({
      code: 'objects_refused',
    })
  })

  it('does not judge an answer while the storage of its request does not answer', async () => {
    const data = createDataFolder()
    await record(data, 'venuea', (script) => {
      script.answer({ kind: 'topic', topic_id: 1 }, topicObject())
      script.wait(10)
      script.answer(BOOK_REQUEST, bookObject())
    })
    const target = book(String(MARKET_ID), 1, 'venuea')
    splitJournal(data, 'venuea')
    const { journal: number } = (await audit(data, target))!
    const archive = await moveBefore(data, 'venuea', number)
    renameSync(archive, `${archive}.gone`)
    await expect(audit(data, target)).rejects.toMatchObject({ code: 'objects_refused' })
    renameSync(`${archive}.gone`, archive)
    const report = await audit(data, target)
    expect(report).toMatchObject({ state: 'equal', raw: { request: BOOK_REQUEST } })
  })

  it('lays a frame of many changes over the book before it', async () => {
    const data = createDataFolder()
    await record(data, 'venuec', (script) => {
      const say = (value: object): void =>
        script.frame(1, { market: CONDITION, timestamp: '1790000000000', ...value })
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      say({
        event_type: 'book',
        asset_id: TOKEN,
        hash: 'a',
        bids: [{ price: '.4', size: '10' }],
        asks: [{ price: '.6', size: '20' }],
      })
      script.wait(10)
      const change = (price: string, size: string, side: string) => ({
        asset_id: TOKEN,
        price,
        size,
        side,
        hash: 'b',
        best_bid: '0.41',
        best_ask: '0.6',
      })
      say({
        event_type: 'price_change',
        price_changes: [
          change('0.41', '1', 'BUY'),
          change('0.4', '0', 'BUY'),
          change('0.61', '2.5', 'SELL'),
        ],
      })
    })
    expect(await audit(data, book(TOKEN, 2, 'venuec'))).toMatchObject({
      state: 'equal',
      derived: {
        bids: { price: ['0.41'], size: ['1'] },
        asks: { price: ['0.6', '0.61'], size: ['20', '2.5'] },
      },
    })
  })

  it('finds the record of a merged folder in its own journal', async () => {
    const [one, two, target] = [await venueBFolder(), createDataFolder(), createDataFolder()]
    await record(two, 'venueb', playVenueB, { recorder: 'r2' })
    await merge(target, one, two)
    const report = await audit(target, book(TICKER, 2))
    expect(report).toMatchObject({ state: 'equal', raw: { recorder: 'r1' } })
  })

  it('says that raw bytes expired, or are damaged, and still shows the row', async () => {
    const expired = await venueBFolder()
    for (const file of segmentsOf(expired)) rmSync(file)
    const gone = await audit(expired, book(TICKER, 1))
    expect(gone).toMatchObject({ state: 'raw_expired', stored: { bids: { price: ['0.4'] } } })
    expect(gone).not.toHaveProperty('raw')
    const damaged = await venueBFolder()
    for (const file of segmentsOf(damaged)) {
      const bytes = readFileSync(file)
      // Inside the payload of the first block, behind the headers of file and block.
      for (let index = 200; index < bytes.length - 8; index += 16) bytes[index]! ^= 255
      writeFileSync(file, bytes)
    }
    const bad = await audit(damaged, book(TICKER, 1))
    expect(['raw_damaged', 'raw_missing']).toContain(bad?.state)
    expect(bad).not.toHaveProperty('raw')
  })

  it('tells a row that its message does not give', async () => {
    // The journal of another run: the same numbers, another book.
    const [data, other] = [await venueBFolder(), createDataFolder()]
    await record(other, 'venueb', (script) => {
      script.note({ note: 'connected', slot: 1, url: 'ws://b' })
      script.frame(1, {
        type: 'orderbook_snapshot',
        sid: 1,
        seq: 1,
        msg: { market_ticker: TICKER, yes_dollars_fp: [['0.4000', '11.00']], no_dollars_fp: [] },
      })
    })
    const report = await read(data, (store) => createAuditor(store, other.journal)(book(TICKER, 1)))
    expect(report).toMatchObject({
      state: 'different',
      differences: ['bid 0.4: stored 10, derived 11', 'ask 0.5: stored 20, derived 0'],
    })
  })
})
