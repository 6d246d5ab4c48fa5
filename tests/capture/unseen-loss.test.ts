import { describe, expect, it } from 'vitest'
import type { Book, Level } from '../../packages/emulator/src/core/upstream.ts'
import { followLoss, type Heard, type Insight } from './unseen-loss.ts'

const side = (text: string): Level[] =>
  text
    .split(' ')
    .filter((level) => level !== '')
    .map((level) => {
      const [price, size] = level.split('×').map(Number) as [number, number]
      return { price, size }
    })

/** A book such as `40×5 39×7 | 60×5`. */
function bookOf(text: string): Book {
  const [bids, asks] = text.split('|') as [string, string]
  return { bids: side(bids.trim()), asks: side(asks.trim()) }
}

type Said = Partial<Pick<Heard, 'isHeard' | 'connection'>> & { readonly time?: number }

function full(text: string, { time = 0, ...more }: Said = {}): Heard {
  const payload = { kind: 'full' as const, key: 'T', book: bookOf(text), time }
  return { at: 0, connection: 'c1', isHeard: true, payload, ...more }
}

/** A change such as `bid 40×5` after which the venue has this book. */
function change(level: string, text: string, { time = 0, ...more }: Said = {}): Heard {
  const [name, rest] = level.split(' ') as ['bid' | 'ask', string]
  const levels = side(rest).map((one) => ({ side: name, ...one }))
  const payload = { kind: 'change' as const, key: 'T', book: bookOf(text), levels, time }
  return { at: 0, connection: 'c1', isHeard: true, payload, ...more }
}

const LOST = { isHeard: false }
const nothing = (): undefined => undefined

function follow(messages: readonly Heard[], lead = 0): Insight & { books: number } {
  let books = 0
  const insight = followLoss(
    full('40×5 39×7 | 60×5 61×7'),
    messages,
    lead,
    () => {
      books++
      return 'stored'
    },
    nothing,
  )
  return { ...insight, books }
}

describe('a loss that nothing shows', () => {
  it('is overwritten by the next change of the level', () => {
    const found = follow([
      change('bid 39×9', '40×5 39×9 | 60×5 61×7', LOST),
      change('ask 61×1', '40×5 39×9 | 60×5 61×1'),
      change('bid 39×8', '40×5 39×8 | 60×5 61×1'),
      change('bid 39×1', '40×5 39×1 | 60×5 61×1'),
    ])
    expect(found).toEqual({ shown: undefined, heard: 3, books: 2 })
  })

  it('is the work of the trade that comes next', () => {
    const found = follow([
      change('bid 40×3', '40×3 39×7 | 60×5 61×7', LOST),
      full('40×1 39×7 | 60×5 61×7'),
    ])
    expect(found).toEqual({ shown: undefined, heard: 2, books: 1 })
  })

  it('is not that of a full book from before the last full one, be that an answer', () => {
    const late = full('40×5 39×7 | 60×5 61×9', { time: -1 })
    const between = full('40×5 39×7 | 60×5 61×9', { time: 1 })
    const answer = { ...full('40×5 39×7 | 60×5 61×1', { time: 2, ...LOST }), isAnswer: true }
    const next = change('ask 61×1', '40×5 39×7 | 60×5 61×1', { time: 2 })
    expect(follow([late, next])).toMatchObject({ shown: undefined, heard: 2, books: 1 })
    expect(follow([answer, next, between], 3)).toMatchObject({ shown: undefined, heard: 3 })
  })

  it('is a swap of two messages of the same time', () => {
    const second = change('ask 61×1', '40×5 39×9 | 60×5 61×1')
    const first = change('bid 39×9', '40×5 39×9 | 60×5 61×7')
    const third = change('ask 60×1', '40×5 39×9 | 60×1 61×1')
    expect(follow([second, first, third], 1)).toEqual({ shown: undefined, heard: 3, books: 3 })
  })
})

describe('a loss is shown by', () => {
  const lost = change('bid 39×9', '40×5 39×9 | 60×5 61×7', LOST)

  it.each<[string, readonly Heard[]]>([
    [
      'other best prices',
      [
        change('bid 41×1', '41×1 40×5 39×7 | 60×5 61×7', LOST),
        change('bid 38×1', '41×1 40×5 39×7 38×1 | 60×5 61×7'),
      ],
    ],
    ['a full book that no trade explains', [lost, full('40×5 39×9 | 60×5 61×7')]],
    [
      'a crossed book',
      [change('bid 40×0', '39×7 | 60×5 61×7', LOST), change('ask 40×1', '39×7 | 40×1 60×5 61×7')],
    ],
    [
      'changes out of order',
      [
        change('ask 61×1', '40×5 39×9 | 60×5 61×1', { time: 2 }),
        change('bid 39×9', '40×5 39×9 | 60×5 61×7', { time: 1 }),
      ],
    ],
    [
      'a full book after a newer change',
      [
        change('ask 61×1', '40×5 39×7 | 60×1 61×1', { time: 2 }),
        full('40×5 39×7 | 60×1 61×7', { time: 1 }),
      ],
    ],
    ['a new connection', [lost, full('40×5 39×7 | 60×5 61×7', { connection: 'c2' })]],
  ])('%s', (shown, messages) => {
    expect(follow(messages)).toMatchObject({ shown, heard: 2 })
  })

  it('a message that has no row', () => {
    const messages = [lost, change('ask 61×1', '40×5 39×9 | 60×5 61×1')]
    const before = full('40×5 39×7 | 60×5 61×7')
    expect(followLoss(before, messages, 0, () => 'missing', nothing).shown).toBe(
      'a message that is not stored',
    )
    expect(followLoss(before, messages, 0, () => 'ended', nothing).shown).toBeUndefined()
  })
})
