import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeBacktestFiles } from '../../bench/lib/backtest-files.ts'
import { findRecordings, readObservations } from '../../bench/lib/recordings.ts'
import { measureHftbacktest } from '../../bench/peers/hftbacktest.ts'
import { PYTHON } from './run-python.ts'

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
// A market without gaps, so that a plain fold of its messages is the book.
const TICKER = 'KXGOLD15M-26AUG050800-00'

let folder: string
let files: readonly string[]

beforeAll(() => {
  if (recordings === '') return
  folder = mkdtempSync(join(tmpdir(), 'priorbook-hftbacktest-'))
  const isWanted = (ticker: string): boolean => ticker === TICKER
  files = writeBacktestFiles(recordings, join(folder, 'tape'), 1, isWanted).files
})

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(recordings === '')('the taker of the benchmark in hftbacktest', () => {
  it.skipIf(PYTHON === undefined)(
    'orders when the recorded mid has moved',
    async () => {
      const times = await measureHftbacktest(files, join(folder, 'events'), 2)
      if ('reason' in times) throw new Error(times.reason)
      const wanted = countOrders()
      expect(wanted).toBeGreaterThan(10)
      for (const { orders, cpu_seconds: seconds } of [times.hashmap, times.roivector]) {
        expect(orders).toBe(wanted)
        expect(seconds).toBeGreaterThan(0)
      }
    },
    240_000,
  )

  it('is left out with a reason where it cannot run', async () => {
    const out = join(folder, 'none')
    const times = await measureHftbacktest(files, out, 1, join(folder, 'no-python'))
    expect(times).toEqual({ reason: expect.stringMatching(/^hftbacktest failed: .*no-python/) })
  })
})

// hftbacktest shows a strategy one book for each instant: the last one.
function countOrders(): number {
  const recorded = findRecordings(recordings).find(({ ticker }) => ticker === TICKER)!
  const mids = new Map<number, number | undefined>()
  for (const { receivedMicros, bidPrice, askPrice } of readObservations(recorded)) {
    const [bid] = bidPrice
    const [ask] = askPrice
    mids.set(receivedMicros, bid === undefined || ask === undefined ? undefined : (bid + ask) / 2)
  }
  let last: number | undefined
  let orders = 0
  for (const mid of mids.values()) {
    if (mid === undefined || (last !== undefined && Math.abs(mid - last) <= 600)) continue
    if (last !== undefined) orders++
    last = mid
  }
  return orders
}
