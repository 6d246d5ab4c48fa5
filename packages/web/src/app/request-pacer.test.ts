import { describe, expect, it } from 'vitest'
import { RequestPacer, spacingOf } from './request-pacer.ts'

describe('the request pacer', () => {
  it('spaces by the shortest limit where it is small', () => {
    expect(spacingOf('"second";q=1;w=1')).toBe(1100)
    expect(spacingOf('"minute";q=60;w=60, "second";q=5;w=1')).toBe(260)
    expect(spacingOf('"second";q=25;w=1, "minute";q=1000;w=60')).toBe(0)
    expect(spacingOf(null)).toBe(0)
  })

  it('allows one request until the plan is known, then follows its limits', async () => {
    const pacer = new RequestPacer()
    const gone: number[] = []
    const started = performance.now()
    const all = [0, 1, 2].map(async (index) => {
      await pacer.acquire()
      gone.push(index)
    })
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(gone).toEqual([0])
    pacer.noteAnswer('"second";q=10;w=1')
    await Promise.all(all)
    expect(gone).toEqual([0, 1, 2])
    // Two more at 155 ms each, the first a little earlier.
    expect(performance.now() - started).toBeGreaterThan(200)
  })

  it('continues where no answer came', async () => {
    const pacer = new RequestPacer()
    await pacer.acquire()
    pacer.noteAnswer(undefined)
    await pacer.acquire()
    pacer.noteAnswer(null)
    await Promise.all([pacer.acquire(), pacer.acquire(), pacer.acquire()])
    expect(await pacer.acquire()).toBeUndefined()
  })
})
