import { describe, expect, it } from 'vitest'
import { Pace, spacingOf } from './pace.ts'

describe('the pace of requests', () => {
  it('is that of the shortest limit, where it is small', () => {
    expect(spacingOf('"second";q=1;w=1')).toBe(1100)
    expect(spacingOf('"minute";q=60;w=60, "second";q=5;w=1')).toBe(260)
    expect(spacingOf('"second";q=25;w=1, "minute";q=1000;w=60')).toBe(0)
    expect(spacingOf(null)).toBe(0)
  })

  it('lets one request go until the plan is known, then as it allows', async () => {
    const pace = new Pace()
    const gone: number[] = []
    const started = performance.now()
    const all = [0, 1, 2].map(async (index) => {
      await pace.turn()
      gone.push(index)
    })
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(gone).toEqual([0])
    pace.heard('"second";q=10;w=1')
    await Promise.all(all)
    expect(gone).toEqual([0, 1, 2])
    // Two more at 155 ms each, the first a little earlier.
    expect(performance.now() - started).toBeGreaterThan(200)
  })

  it('goes on where an answer did not come', async () => {
    const pace = new Pace()
    await pace.turn()
    pace.heard(undefined)
    await pace.turn()
    pace.heard(null)
    await Promise.all([pace.turn(), pace.turn(), pace.turn()])
    expect(await pace.turn()).toBeUndefined()
  })
})
