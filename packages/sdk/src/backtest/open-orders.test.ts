import { expect, it } from 'vitest'
import type { EngineOrder } from './engine-order.ts'
import { OpenOrders } from './open-orders.ts'
import { createRandom } from './random.ts'

it('gives what a map gives, however orders come and go', () => {
  const random = createRandom(5, 'orders')
  const open = new OpenOrders()
  const expected = new Map<number, EngineOrder>()
  let last = 0
  for (let step = 0; step < 2000; step++) {
    // The number of open orders grows for a while, and then falls to none.
    if (random.below(6) < (step % 400 < 200 ? 4 : 2)) {
      last += 1 + random.below(3)
      const order = { id: last } as EngineOrder
      open.add(order)
      expected.set(last, order)
    } else {
      const ids = [...expected.keys()]
      const id = random.below(10) === 0 ? random.below(last + 2) : ids[random.below(ids.length)]!
      open.delete(id)
      expected.delete(id)
    }
    const id = random.below(last + 2)
    expect(open.get(id)).toBe(expected.get(id))
    expect(open.list().map((order) => order.id)).toEqual([...expected.keys()])
  }
  for (const { id } of open.list()) {
    expect(open.get(id)?.id).toBe(id)
    open.delete(id)
  }
  expect(open.list()).toStrictEqual([])
})

it('has no order for values that are not ids', () => {
  const open = new OpenOrders()
  const values = [undefined, null, Number.NaN, '1', Symbol('1'), { valueOf: () => 1 }, 1n]
  for (const value of values) expect(open.get(value as number)).toBeUndefined()
  open.add({ id: 1 } as EngineOrder)
  for (const value of values) expect(open.get(value as number)).toBeUndefined()
  expect(open.get(1)?.id).toBe(1)
})
