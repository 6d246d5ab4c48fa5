import type { Book, Level, Payload } from '../../packages/emulator/src/core/upstream.ts'

/**
 * Plays what the best of recorders could know of a token of venue C after a loss. The venue numbers
 * nothing, so a loss shows only by what comes later: best prices that the book does not have, a book
 * that crosses, a change that is older than the one before it, a full book that no trade explains, a
 * new connection.
 * Where the book is right again before any of them, nobody could have seen the loss.
 */
export type Insight = {
  /** What showed the loss; undefined where nothing did. */
  readonly shown: string | undefined
  /** How many of the messages were looked at: those that the loss concerns. */
  readonly heard: number
}

/** One message of the token, as the log tells it: a book before it is put on the wire or lost. */
export type Heard = {
  readonly at: number
  readonly payload: Payload & { readonly kind: 'full' | 'change' }
  readonly connection: string
  /** False: it was lost on the way, or is a copy. */
  readonly isHeard: boolean
  /** Spoiled on the way, perhaps into a message that says something else. */
  readonly isSpoiled?: boolean
  /** A full book by REST that was stored: it holds all that is older. */
  readonly isAnswer?: boolean
}

// Longer ago than this, an older time means that the venue's clock was set.
const REORDER_MICROS = 1_900_000

/** What became of a book that somebody who heard the rest must have stored. */
export type Stored =
  | 'stored'
  /** Something else made an end there, such as a lost connection: what follows is no news of the loss. */
  | 'ended'
  | 'missing'

/**
 * Follows a book over the messages that come after `before`; the first `lead` of them came before the
 * loss, to see what else was under way. `take` is asked for every book that was believed in, and without
 * one where the connection ends; `believe` for the book that a spoiled message was taken for, if it was.
 * `lastFull` is the venue's time of the last full book up to `before`, in milliseconds.
 */
export function followLoss(
  before: Heard,
  messages: readonly Heard[],
  lead: number,
  take: (book: Book | undefined) => Stored,
  believe: () => Book | 'ended' | undefined,
  lastFull?: number,
): Insight {
  const ours = toLevels(before.payload.book)
  let { at, payload } = before
  let fullTime = lastFull ?? -Infinity
  if (payload.kind === 'full') fullTime = payload.time ?? fullTime
  for (const [index, one] of messages.entries()) {
    const done = (shown?: string): Insight => ({ shown, heard: index + 1 })
    if (!one.isHeard && one.isSpoiled === true) {
      const lie = believe()
      if (lie === 'ended') return done()
      if (lie === undefined) continue
      ours.clear()
      for (const [key, size] of toLevels(lie)) ours.set(key, size)
    }
    if (one.isAnswer === true) fullTime = Math.max(fullTime, one.payload.time ?? 0)
    if (!one.isHeard) continue
    if (index >= lead && one.connection !== messages[lead]!.connection) {
      return done(take(undefined) === 'ended' ? undefined : 'a new connection')
    }
    const theirs = one.payload.book
    const isOlder = (one.payload.time ?? 0) < (payload.time ?? 0) && one.at - at < REORDER_MICROS
    const isFull = one.payload.kind === 'full'
    if (isFull) {
      // From before the last full book, or that one again: it says nothing of what came since.
      const isKnown = (one.payload.time ?? 0) <= fullTime
      if (isOlder && (isKnown || compare(ours, toLevels(theirs)).length === 0)) continue
      if (isOlder) return done('a full book after a newer change')
      fullTime = one.payload.time ?? fullTime
      const levels = toLevels(theirs)
      if (!isTrade(compare(ours, levels), theirs)) return done('a full book that no trade explains')
      ours.clear()
      for (const [key, size] of levels) ours.set(key, size)
    } else {
      if (isOlder) return done('changes out of order')
      for (const { side, price, size } of one.payload.levels ?? []) {
        if (size === 0) ours.delete(`${side} ${price}`)
        else ours.set(`${side} ${price}`, size)
      }
    }
    ;({ at, payload } = one)
    const book = toBook(ours)
    if ((book.bids[0]?.price ?? 0) >= (book.asks[0]?.price ?? Infinity))
      return done('a crossed book')
    const isBest = (['bids', 'asks'] as const).every(
      (side) => book[side][0]?.price === theirs[side][0]?.price,
    )
    if (!isBest) return done('other best prices')
    const stored = take(book)
    if (stored === 'ended') return done()
    if (stored === 'missing') return done('a message that is not stored')
    if (index >= lead && compare(ours, toLevels(theirs)).length === 0) return done()
  }
  return { shown: undefined, heard: messages.length }
}

type Levels = Map<string, number>
type Difference = {
  readonly side: 'bid' | 'ask'
  readonly price: number
  readonly ours: number
  readonly theirs: number
}

function toLevels({ bids, asks }: Book): Levels {
  const levels: Levels = new Map()
  for (const { price, size } of bids) levels.set(`bid ${price}`, size)
  for (const { price, size } of asks) levels.set(`ask ${price}`, size)
  return levels
}

function toBook(levels: Levels): Book {
  const of = (side: string): Level[] =>
    [...levels].flatMap(([key, size]) => {
      const [name, price] = key.split(' ')
      return name === side ? [{ price: Number(price), size }] : []
    })
  return {
    bids: of('bid').sort((a, b) => b.price - a.price),
    asks: of('ask').sort((a, b) => a.price - b.price),
  }
}

function compare(ours: Levels, theirs: Levels): Difference[] {
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((key) => {
      const [side, price] = key.split(' ') as ['bid' | 'ask', string]
      const sizes = { ours: ours.get(key) ?? 0, theirs: theirs.get(key) ?? 0 }
      return { side, price: Number(price), ...sizes }
    })
    .filter((one) => one.ours !== one.theirs)
}

// One order takes from the best of one side on; if it took all that it met, it may rest on the other.
function isTrade(differences: readonly Difference[], after: Book): boolean {
  if (differences.length === 0) return true
  const taken = differences.filter(({ ours, theirs }) => theirs < ours)
  const grown = differences.filter(({ ours, theirs }) => theirs > ours)
  const side = taken[0]?.side
  if (side === undefined || taken.some((one) => one.side !== side) || grown.length > 1) return false
  const sign = side === 'bid' ? 1 : -1
  const best = (side === 'bid' ? after.bids : after.asks)[0]?.price
  if (best !== undefined && taken.some(({ price }) => sign * (price - best) < 0)) return false
  const rest = grown[0]
  if (rest === undefined) return true
  const own = (side === 'bid' ? after.asks : after.bids)[0]?.price
  return (
    rest.side !== side &&
    rest.price === own &&
    taken.every(({ theirs, price }) => theirs === 0 && sign * (price - rest.price) >= 0)
  )
}
