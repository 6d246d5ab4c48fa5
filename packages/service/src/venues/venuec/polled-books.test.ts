import type { TapeEvent } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import type { CaptureNote } from '../capture/contract.ts'
import { PolledBooks } from './polled-books.ts'

const SIGNAL = new AbortController().signal

function polled(count: number) {
  const clock = new ManualClock()
  const asked: string[][] = []
  const notes: CaptureNote[] = []
  const silent = new Set<string>()
  const books = new PolledBooks({
    clock,
    everyMs: 30_000,
    sink: { note: (note) => void notes.push(note) },
    clob: {
      send({ body }) {
        const tokens = (body as { token_id: string }[]).map(({ token_id: token }) => token)
        asked.push(tokens)
        const events = tokens
          .filter((token) => !silent.has(token))
          .map((key) => ({ kind: 'snapshot', instrument: { venue: 'venuec', market: 'm', key } }))
        const reading = { events: events as unknown as TapeEvent[], problems: [] }
        return Promise.resolve({ ok: true, value: [], reading })
      },
    },
  })
  const tokens = Array.from({ length: count }, (_, at) => `T${at}`)
  books.follow(new Set(tokens))
  return { clock, books, asked, notes, silent, tokens }
}

it('books are requested in batches, each once in an interval', async () => {
  const { clock, books, asked, tokens } = polled(230)
  await books.poll(SIGNAL)
  await books.poll(SIGNAL)
  expect(asked.map(({ length }) => length)).toStrictEqual([50, 50, 50, 50, 30])
  expect(asked.flat()).toStrictEqual(tokens)
  await books.poll(SIGNAL)
  expect(asked).toHaveLength(5)
  await clock.advance(30_000)
  await books.poll(SIGNAL)
  expect(asked).toHaveLength(9)
})

it('a book without an answer for three intervals is closed once, and others get their turn', async () => {
  const { clock, books, asked, notes, silent } = polled(3)
  await books.poll(SIGNAL)
  silent.add('T1')
  for (let turn = 0; turn < 6; turn++) {
    await clock.advance(30_000)
    await books.poll(SIGNAL)
  }
  const lost = notes.map((note) => (note.note === 'loss' ? [note.reason, note.keys] : []))
  expect(lost).toStrictEqual([['unavailable', ['T1']]])
  expect(asked.filter((tokens) => tokens.includes('T2'))).toHaveLength(7)
})

it('tokens that are not followed any more are not requested', async () => {
  const { books, asked } = polled(3)
  books.follow(new Set(['T2']))
  await books.poll(SIGNAL)
  expect(asked).toStrictEqual([['T2']])
})
