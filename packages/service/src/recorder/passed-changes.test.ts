import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Instrument } from '@priorbook/sdk/domain'
import { journalStats } from '@priorbook/sdk/journal'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import { catchUp } from './catch-up.ts'
import { compareStores } from '../derive/rebuild.ts'
import {
  booksOf,
  createDataFolder,
  createFeed,
  gapsOf,
  record,
  START_MS,
  type Recovery,
  type Script,
} from './scripted.testing.ts'

const TOKEN = '7'.repeat(70)
const CONDITION = `0x${'c'.repeat(64)}`
const level = (text: string) => ({ price: text.split('×')[0], size: text.split('×')[1] })

const book = (ms: number, bids: readonly string[]) => ({
  event_type: 'book',
  asset_id: TOKEN,
  market: CONDITION,
  timestamp: String(START_MS + ms),
  hash: 'a'.repeat(40),
  bids: bids.map(level),
  asks: [level('0.60×1')],
})

const change = (ms: number, bid: string, best: string) => ({
  event_type: 'price_change',
  market: CONDITION,
  timestamp: String(START_MS + ms),
  price_changes: [
    { asset_id: TOKEN, ...level(bid), side: 'BUY', hash: 'b', best_bid: best, best_ask: '0.6' },
  ],
})

const REQUEST = { kind: 'clob_book', token_id: TOKEN, condition_id: CONDITION }

/** Opens a book and closes it by a loss; returns the position after it. */
function openAndLose(script: Script): number {
  script.note({ note: 'connected', slot: 1, url: 'ws://c' })
  script.frame(1, book(0, ['0.40×1']))
  script.wait(10)
  script.note({ note: 'loss', reason: 'sequence_break', why: 'a test', keys: [TOKEN] })
  return script.position()
}

/** Closes a book, passes a change over, and answers with books from before it, then from after it. */
function play(data: ReturnType<typeof createDataFolder>): Promise<readonly Recovery[]> {
  return record(data, 'venuec', (script) => {
    const asked = openAndLose(script)
    script.wait(10)
    script.frame(1, change(20, '0.30×5', '0.4'))
    script.wait(10)
    script.answer(REQUEST, book(15, ['0.40×1']))
    script.wait(10)
    script.frame(1, change(40, '0.20×2', '0.4'))
    script.wait(10)
    script.answer(REQUEST, book(20, ['0.40×1', '0.30×5']))
    script.wait(10)
    script.answer(REQUEST, book(40, ['0.40×1', '0.30×5']), asked)
    script.wait(10)
    script.answer(REQUEST, book(40, ['0.40×1', '0.30×5', '0.20×2']), script.position())
    script.wait(10)
    script.frame(1, change(70, '0.40×3', '0.4'))
  })
}

describe('an answer that is older than changes that arrived before it', () => {
  it('opens no book, and another one is requested', async () => {
    const data = createDataFolder()
    const recoveries = await play(data)
    expect(recoveries.slice(0, 4)).toEqual([
      { keys: [TOKEN], reason: 'sequence_break' },
      { keys: [TOKEN], reason: 'book_reset' },
      { keys: [TOKEN], reason: 'book_reset' },
      { keys: [TOKEN], reason: 'book_reset' },
    ])
    expect(await booksOf(data, 'venuec', TOKEN)).toEqual([
      '0: 0.4×1 | 0.6×1',
      '70: 0.4×1 0.3×5 0.2×2 | 0.6×1',
      '80: 0.4×3 0.3×5 0.2×2 | 0.6×1',
    ])
    expect(await gapsOf(data, 'venuec', TOKEN)).toEqual([
      'sequence_break 0–70',
      'recorder_down 80–',
    ])
  })

  it('is recognized after a restart at any record', async () => {
    const data = createDataFolder()
    await play(data)
    expect(await differencesAfterCuts(data)).toEqual([])
  })
})

/** A frame that names the token and is no message; a spoiled change, say. */
const SPOILED = JSON.stringify(change(25, '0.30×5', '0.4')).replace('"0.30"', '"a"')

/** A message cannot be read while a book is requested; the answer may be from before it. */
function playUnread(
  data: ReturnType<typeof createDataFolder>,
  frame: string,
): Promise<readonly Recovery[]> {
  return record(data, 'venuec', (script) => {
    const asked = openAndLose(script)
    script.wait(15)
    script.text(1, frame)
    const askedAgain = script.position()
    script.wait(5)
    script.answer(REQUEST, book(20, ['0.40×1']), asked)
    script.wait(10)
    script.answer(REQUEST, book(25, ['0.40×1', '0.30×5']), askedAgain)
    script.wait(10)
    script.frame(1, change(50, '0.40×3', '0.4'))
  })
}

describe.each([
  ['names its token', SPOILED],
  ['names nothing', SPOILED.slice(0, 20)],
])('an answer that was requested before a message that cannot be read and %s', (_name, frame) => {
  it('opens no book, and another one is requested', async () => {
    const data = createDataFolder()
    const recoveries = await playUnread(data, frame)
    expect(recoveries.slice(0, 2)).toEqual([
      { keys: [TOKEN], reason: 'sequence_break' },
      { keys: [TOKEN], reason: 'book_reset' },
    ])
    expect(await booksOf(data, 'venuec', TOKEN)).toEqual([
      '0: 0.4×1 | 0.6×1',
      '40: 0.4×1 0.3×5 | 0.6×1',
      '50: 0.4×3 0.3×5 | 0.6×1',
    ])
  })

  it('is recognized after a restart at any record', async () => {
    const data = createDataFolder()
    await playUnread(data, frame)
    expect(await differencesAfterCuts(data)).toEqual([])
  })
})

describe('a book that an answer opened after a reconnection, before its first frame', () => {
  const play = async (trouble: (script: Script) => void) => {
    const data = createDataFolder()
    await record(data, 'venuec', (script) => {
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      script.frame(1, book(0, ['0.40×1']))
      script.wait(10)
      script.note({ note: 'loss', reason: 'disconnected', why: 'a test', slot: 1 })
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      script.wait(10)
      script.answer(REQUEST, book(12, ['0.40×1']), script.position())
      script.wait(10)
      trouble(script)
      script.wait(10)
      script.frame(1, change(40, '0.40×3', '0.4'))
    })
    expect(await differencesAfterCuts(data)).toEqual([])
    return gapsOf(data, 'venuec', TOKEN)
  }

  it('is closed by a frame that cannot be read', async () => {
    const gaps = await play((script) => script.text(1, '{"broken'))
    expect(gaps).toEqual(['disconnected 0–20', 'rejected 20–'])
  })

  it('is closed by the next loss of a connection', async () => {
    const gaps = await play((script) => {
      script.note({ note: 'loss', reason: 'disconnected', why: 'a test', slot: 1 })
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
    })
    expect(gaps).toEqual(['disconnected 0–20', 'disconnected 20–'])
  })
})

describe('changes with the time of the answer before them', () => {
  // The answer was made after three changes of one millisecond, and overtook them.
  const play = async (frames: readonly object[]) => {
    const data = createDataFolder()
    const recoveries = await record(data, 'venuec', (script) => {
      openAndLose(script)
      script.wait(10)
      script.answer(REQUEST, book(15, ['0.40×1', '0.30×7']), script.position())
      for (const frame of frames) {
        script.wait(10)
        script.frame(1, frame)
      }
    })
    expect(await differencesAfterCuts(data)).toEqual([])
    const books = await booksOf(data, 'venuec', TOKEN)
    return { recoveries, books, gaps: await gapsOf(data, 'venuec', TOKEN) }
  }
  const OPENED = ['0: 0.4×1 | 0.6×1', '20: 0.4×1 0.3×7 | 0.6×1']

  it('are passed over where the book has them', async () => {
    const frames = [
      change(15, '0.30×7', '0.4'),
      change(15, '0.40×1', '0.4'),
      change(20, '0.30×8', '0.4'),
    ]
    const { books, gaps } = await play(frames)
    expect(books).toEqual([...OPENED, '50: 0.4×1 0.3×8 | 0.6×1'])
    expect(gaps).toEqual(['sequence_break 0–20', 'recorder_down 50–'])
  })

  it('close the book where it has other sizes, because they may be older ones', async () => {
    const { recoveries, books, gaps } = await play([
      change(15, '0.40×1', '0.4'),
      change(15, '0.30×5', '0.4'),
    ])
    expect(books).toEqual(OPENED)
    expect(gaps).toEqual(['sequence_break 0–20', 'book_reset 20–'])
    expect(recoveries[1]).toEqual({ keys: [TOKEN], reason: 'book_reset' })
  })
})

// While the disk is full, changes are not kept: also a token that is not known yet may miss some.
it.each([
  ['of a known token', true],
  ['of a new token', false],
])(
  'an answer %s that was requested before a full disk had space again opens no book',
  async (_name, isKnown) => {
    const store = openEmbeddedStore({ file: createDataFolder().tape })
    onTestFinished(() => store.close())
    const closed: string[] = []
    const onClosed = (_: readonly Instrument[], reason: string): void => void closed.push(reason)
    const applier = new Applier(store, 'venuec', { onClosed })
    const put = createFeed(() => applier)
    await put('note', { note: 'started', version: '1' })
    await put('note', { note: 'connected', slot: 1, url: 'ws://c' })
    if (isKnown) await put('message', book(0, ['0.40×1']), 1)
    await put('note', { note: 'disk_full', refused: 1 })
    await put('note', { note: 'request', request: REQUEST, asked: 2 })
    await put('message', book(5, ['0.40×1']))
    expect(closed.at(-1)).toBe('book_reset')
    expect(applier.held.open).toBe(0)
    await put('note', { note: 'request', request: REQUEST, asked: 6 })
    await put('message', book(5, ['0.40×1', '0.30×5']))
    expect(applier.held.open).toBe(1)
  },
)

/** How a store that was restarted after a record differs from one that was not, for all records. */
async function differencesAfterCuts(data: ReturnType<typeof createDataFolder>): Promise<object[]> {
  const found: object[] = []
  const whole = openEmbeddedStore({ file: data.tape })
  await whole.seal()
  for (let cut = 1; cut < journalStats(data.journal, 'venuec').last!; cut++) {
    const file = join(data.path, `cut-${cut}.db`)
    const before = openEmbeddedStore({ file })
    await catchUp(before, data.journal, 'venuec', undefined, cut)
    await before.close()
    const after = openEmbeddedStore({ file })
    await catchUp(after, data.journal, 'venuec')
    await after.seal()
    const { differences } = await compareStores(whole, after)
    await after.close()
    found.push(...differences.map((difference) => ({ cut, difference })))
  }
  await whole.close()
  return found
}
