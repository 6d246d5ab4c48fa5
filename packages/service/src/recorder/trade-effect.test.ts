import { describe, expect, it } from 'vitest'
import { Ladder } from '@priorbook/sdk/tape'
import { isTradeEffect } from './trade-effect.ts'

/** Levels such as `b40×5 a60×1`: a side, a price in hundredths, a size. */
function ladderOf(text: string): Ladder {
  const ladder = new Ladder(2)
  for (const level of text.split(' ')) {
    const [price, size] = level.slice(1).split('×').map(Number) as [number, number]
    ladder.apply(price * 2 + (level.startsWith('a') ? 1 : 0), size)
  }
  return ladder
}

function judge(before: string, after: string): boolean {
  const [old, now] = [ladderOf(before), ladderOf(after)]
  const keys = [...new Set([...old.keys(), ...now.keys()])]
  const differ = keys.filter((key) => old.sizeAt(key) !== now.sizeAt(key))
  return isTradeEffect(
    now,
    differ,
    differ.map((key) => old.sizeAt(key)),
  )
}

describe('what a trade can do to a book', () => {
  const before = 'b40×5 b39×7 b38×9 a60×5 a61×7 a62×9'

  it.each([
    ['takes a part of the best bid', 'b40×2 b39×7 b38×9 a60×5 a61×7 a62×9'],
    ['takes two bids and a part of the third', 'b38×1 a60×5 a61×7 a62×9'],
    ['takes the best ask', 'b40×5 b39×7 b38×9 a61×7 a62×9'],
    ['takes all asks', 'b40×5 b39×7 b38×9'],
    ['takes the best ask, and the rest of it is a bid', 'b60×3 b40×5 b39×7 b38×9 a61×7 a62×9'],
    ['takes the best bid, and the rest of it is an ask', 'b39×7 b38×9 a40×3 a60×5 a61×7 a62×9'],
  ])('%s', (_what, after) => {
    expect(judge(before, after)).toBe(true)
  })

  it.each([
    ['a deeper level', 'b40×2 b39×7 b38×8 a60×5 a61×7 a62×9'],
    ['a level that grew', 'b40×6 b39×7 b38×9 a60×5 a61×7 a62×9'],
    ['the new best is larger than it was', 'b39×8 b38×9 a60×5 a61×7 a62×9'],
    ['both sides shrink', 'b40×4 b39×7 b38×9 a60×4 a61×7 a62×9'],
    ['a better level came', 'b41×1 b40×5 b39×7 b38×9 a60×5 a61×7 a62×9'],
    ['a rest beside a level taken in part', 'b60×3 b40×5 b39×7 b38×9 a61×6 a62×9'],
    ['a rest that met nothing', 'b59×3 b40×5 b39×7 b38×9 a61×7 a62×9'],
    ['two levels grew', 'b60×3 b40×6 b39×7 b38×9 a61×7 a62×9'],
  ])('cannot be: %s', (_what, after) => {
    expect(judge(before, after)).toBe(false)
  })

  it('can follow prices that became finer', () => {
    const ladder = ladderOf('b40×5 a60×5')
    ladder.rescale(3)
    ladder.apply(400 * 2, 2)
    expect(isTradeEffect(ladder, [800], [5])).toBe(true)
    ladder.apply(400 * 2, 9)
    expect(isTradeEffect(ladder, [800], [5])).toBe(false)
  })
})
