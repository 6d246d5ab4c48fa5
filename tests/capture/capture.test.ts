import { describe, expect, it } from 'vitest'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { check, type Verdict } from './checker.ts'
import { speedToEndIn } from './emulated-speed.ts'
import { pause, start, type Running } from './harness.ts'
import { recordedFor } from './recorded.ts'
import { until as untilThere } from './recorder-process.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'
// Rounds of five minutes close and resolve, and the next ones are seen from their beginning to their end.
const SECONDS = FULL ? 60 : 20
const ROUND_MS = 300_000
const ROUND_ENDS_IN_MS = 2000
// Fewer changes of each book in short runs; everything else happens as often.
const RATES = FULL ? {} : { changes: 1 }
const LEAST = {
  rows: SECONDS * (FULL ? 500 : 200),
  trades: SECONDS * 20,
  samples: SECONDS * 10,
  // Four feeds of two assets, at most ten prices a second of each.
  prices: SECONDS * 20,
}
// A busy machine sends fewer messages a second.
const PATIENCE_MS = 180_000

type Capture = { readonly verdict: Verdict; readonly until: number }

describe('three emulated venues at twenty times the speed of life', { timeout: 500_000 }, () => {
  const recorded = recordedFor(begin, record)

  it('are recorded observation by observation, trade by trade, sample by sample', async (context) => {
    const { verdict } = await recorded(context)
    expect(verdict.complaints).toEqual([])
    expect(verdict).toMatchObject({ lost: 0, unseen: 0 })
    expect(verdict.instruments).toBeGreaterThan(20)
    expect(verdict.rows).toBeGreaterThan(LEAST.rows)
    expect(verdict.trades).toBeGreaterThan(LEAST.trades)
    expect(verdict.samples).toBeGreaterThan(LEAST.samples)
    expect(verdict.prices).toBeGreaterThan(LEAST.prices)
  })

  it('end with the outcomes that the venues decided', async (context) => {
    const { run, until } = await recorded(context)
    // A market that resolved well before the end must be known as resolved, with its winner. The
    // emulator goes on while the tape is checked.
    const early = until - 5_000_000
    let resolved = 0
    for (const entry of run.emulator.truth.entries) {
      if (entry.type !== 'market' || entry.phase !== 'resolved' || entry.at > early) continue
      const [key] = entry.keys
      const facts = await run.store.instrument({ venue: entry.venue, key: key! })
      if (facts === undefined) continue
      const state = await run.store.market(entry.venue, facts.instrument.market)
      const record = state!.record
      expect({ key, status: record.status }).toEqual({ key, status: 'resolved' })
      const payouts = record.resolution?.payouts
      const isTie = entry.winner === 'tie' && entry.venue !== 'venuec'
      const first = isTie ? '0.5' : entry.winner === 'second' ? '0' : '1'
      expect({ key, first: payouts?.[0] }).toEqual({ key, first })
      resolved++
    }
    expect(resolved).toBeGreaterThan(2)
  })

  it('leave nothing in quarantine, and the journal gives the same tape again', async (context) => {
    const { run, verdict } = await recorded(context)
    expect(await run.store.quarantine({ limit: 10 })).toEqual([])
    await run.store.seal()
    const report = await compareWithJournal(run.store, run.data)
    expect(report.differences).toEqual([])
    expect(report.records).toBeGreaterThan(verdict.rows)
  })
})

function begin(): Promise<Running> {
  const speed = speedToEndIn(20, ROUND_MS, ROUND_ENDS_IN_MS)
  return start({ seed: 20, speed, rates: RATES })
}

async function record(run: Running): Promise<Capture> {
  await pause(SECONDS * 1000)
  await untilThere('enough rows', PATIENCE_MS, () => (hasEnough(run) ? true : undefined))
  const until = await run.stop()
  const verdict = await check(run.emulator.truth.entries, run.store, { until: until - 200_000 })
  return { verdict, until }
}

/** Whether the recorder has counted more of everything than is asked for. */
function hasEnough({ recorder }: Running): boolean {
  const counts = Object.values(recorder.status().venues).map((venue) => venue.counts)
  const sum = (name: 'observations' | 'trades'): number =>
    counts.reduce((total, one) => total + one[name], 0)
  const { venuea, venuec } = recorder.status().venues
  return (
    sum('observations') > LEAST.rows &&
    sum('trades') > LEAST.trades &&
    // The samples of venue C are reference prices.
    venuea!.counts.samples > LEAST.samples &&
    venuec!.counts.samples > LEAST.prices
  )
}
