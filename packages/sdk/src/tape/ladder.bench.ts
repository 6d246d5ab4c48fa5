/**
 * What a change of a book and a walk along it cost, next to a sorted array and a map in the same run:
 * `npx node packages/sdk/src/tape/ladder.bench.ts`. Books of about 46 levels; after every change the
 * best bid and ask are read. Best of turns that alternate: a neighbour on the same core hurts all.
 */
import { createRandom } from '../../../../bench/lib/random.ts'
import { POW10 } from '../domain/index.ts'
import { Ladder } from './ladder.ts'

const CHANGES = 100_000
const TURNS = 15

type Book = {
  apply(key: number, size: number): void
  /** Best bid plus best ask, in ticks. */
  best(): number
  /** The sum of the best ten sizes of both sides. */
  top(): number
}

let sum = 0
console.log('                      M changes/s   ×map   M walks of 10/s   ×map')
for (const decimals of [2, 3, 4]) {
  const changes = drawChanges(decimals)
  const books: readonly (readonly [name: string, book: Book])[] = [
    ['map', createMapBook(decimals)],
    ['sorted array', createSortedBook(decimals)],
    ['ladder', createLadderBook(decimals)],
  ]
  const best = books.map(() => ({ apply: Infinity, walk: Infinity }))
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [index, [name, book]] of books.entries()) {
      // A map is so slow that a part of the work must do.
      const part = name === 'map' ? 20 : 1
      const figures = best[index]!
      figures.apply = Math.min(figures.apply, part * time(() => change(book, CHANGES / part)))
      figures.walk = Math.min(figures.walk, part * time(() => walk(book, CHANGES / part)))
    }
  }
  for (const [index, [name]] of books.entries()) {
    const { apply, walk } = best[index]!
    const cells = [
      `${decimals} decimals, ${name}`.padEnd(24),
      (CHANGES / apply / 1000).toFixed(1).padStart(9),
      (best[0]!.apply / apply).toFixed(1).padStart(7),
      (CHANGES / walk / 1000).toFixed(2).padStart(18),
      (best[0]!.walk / walk).toFixed(1).padStart(7),
    ]
    console.log(cells.join(''))
  }

  function change(book: Book, count: number): void {
    for (let at = 0; at < count; at++) {
      book.apply(changes.key[at]!, changes.size[at]!)
      sum += book.best()
    }
  }

  function walk(book: Book, count: number): void {
    for (let at = 0; at < count; at += 10) {
      book.apply(changes.key[at]!, changes.size[at]!)
      for (let times = 0; times < 10; times++) sum += book.top()
    }
  }
}
if (sum === 0) throw new Error('nothing was measured')

function time(run: () => void): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

/** Levels thin out away from the middle; every fifth change takes one away. */
function drawChanges(decimals: number): { key: Uint32Array; size: Float64Array } {
  const random = createRandom(decimals)
  const one = POW10[decimals]!
  const spread = one / 12
  const key = new Uint32Array(CHANGES)
  const size = new Float64Array(CHANGES)
  // A grid of 60 prices, so that finer ticks mean wider gaps and not more levels.
  const grid = Math.max(1, Math.round(spread / 8))
  for (let at = 0; at < CHANGES; at++) {
    const away = Math.min(one / 2 - 1, 1 + Math.floor(random.exponential(spread) / grid) * grid)
    const isBid = random.chance(0.5)
    key[at] = (one / 2 + (isBid ? -away : away)) * 2 + (isBid ? 0 : 1)
    size[at] = random.chance(0.2) ? 0 : random.integer(1, 20_000)
  }
  return { key, size }
}

function createLadderBook(decimals: number): Book {
  const ladder = new Ladder(decimals)
  return {
    apply: (key, size) => ladder.apply(key, size),
    best: () => ladder.bestBid + ladder.bestAsk,
    top() {
      let total = 0
      let left = 10
      for (let at = ladder.bestBid; at !== 0 && left-- > 0; at = ladder.nextBid(at)) {
        total += ladder.sizeAt(at * 2)
      }
      left = 10
      for (let at = ladder.bestAsk; at !== ladder.one && left-- > 0; at = ladder.nextAsk(at)) {
        total += ladder.sizeAt(at * 2 + 1)
      }
      return total
    },
  }
}

function createMapBook(decimals: number): Book {
  const levels = new Map<number, number>()
  const side = (isAsk: number): number[] =>
    [...levels.keys()].filter((key) => (key & 1) === isAsk).sort((a, b) => a - b)
  return {
    apply(key, size) {
      if (size === 0) levels.delete(key)
      else levels.set(key, size)
    },
    best() {
      let bid = 0
      let ask = POW10[decimals]! * 2
      for (const key of levels.keys()) {
        if ((key & 1) === 1) ask = Math.min(ask, key)
        else bid = Math.max(bid, key)
      }
      return (bid + ask) / 2
    },
    top: () =>
      [...side(0).slice(-10), ...side(1).slice(0, 10)].reduce(
        (total, key) => total + levels.get(key)!,
        0,
      ),
  }
}

// Both sides with the best level last, so that most changes move few elements.
function createSortedBook(decimals: number): Book {
  const one = POW10[decimals]!
  const sides = [0, 1].map(() => ({
    rank: new Float64Array(4096),
    size: new Float64Array(4096),
    count: 0,
  }))
  return {
    apply(key, amount) {
      const side = sides[key & 1]!
      const rank = (key & 1) === 0 ? key >> 1 : one - (key >> 1)
      let at = side.count
      while (at > 0 && side.rank[at - 1]! > rank) at--
      const isThere = at > 0 && side.rank[at - 1] === rank
      if (isThere && amount !== 0) side.size[at - 1] = amount
      else if (isThere) {
        side.rank.copyWithin(at - 1, at, side.count)
        side.size.copyWithin(at - 1, at, side.count)
        side.count--
      } else if (amount !== 0) {
        side.rank.copyWithin(at + 1, at, side.count)
        side.size.copyWithin(at + 1, at, side.count)
        side.rank[at] = rank
        side.size[at] = amount
        side.count++
      }
    },
    best() {
      const [bids, asks] = sides as [(typeof sides)[0], (typeof sides)[0]]
      const bid = bids.count === 0 ? 0 : bids.rank[bids.count - 1]!
      return bid + one - (asks.count === 0 ? 0 : asks.rank[asks.count - 1]!)
    },
    top() {
      let total = 0
      for (const { size, count } of sides) {
        for (let at = count - 1; at >= 0 && at >= count - 10; at--) total += size[at]!
      }
      return total
    },
  }
}
