import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toMicros, type Gap, type VenueId } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { SYSTEM_CLOCK } from '../../packages/service/src/lib/clock.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { createEmulatedHome } from './emulated-home.ts'
import { pause, start } from './harness.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { until, type RecorderProcess } from './recorder-process.ts'

const HOUR_MS = 3_600_000
/** Longer than every watchdog, so that books without messages would have been closed. */
const AFTER_STEP_MS = 8_000
const RECORDING_MS = 30_000
/** The shortest round, and how far the emulated time is into it: no round ends within a test, nor has one just ended. */
const [ROUND_MS, INTO_ROUND_MS] = [300_000, 60_000]
const RATES = { changes: 5, trades: 1, pauses: 0 }
const ROWS = 30
// As Debian's package installs it.
const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

type Counts = Readonly<Record<VenueId, number>>

/** The rows of each venue, by what its recorder counted. */
function countRows(
  venues: Readonly<Partial<Record<VenueId, { counts: { observations: number } }>>>,
): Counts {
  return Object.fromEntries(
    EMULATED_VENUES.map((id) => [id, venues[id]!.counts.observations]),
  ) as Record<VenueId, number>
}

/** Gaps that begin after the first row of a book and are not the end of its market. */
async function findLosses(store: Store): Promise<readonly Gap[]> {
  const gaps = await Promise.all(
    EMULATED_VENUES.map((venue) => store.gaps({ venue, limit: 1_000 })),
  )
  return gaps
    .flat()
    .filter(({ afterSequence, reason }) => afterSequence > 0 && reason !== 'market_closed')
    .filter(({ reason }) => reason !== 'recorder_down')
}

describe.each([
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
])('a wall clock that steps an hour %s', (_name, stepMs) => {
  test('loses no book of any venue', async ({ onTestFinished }) => {
    const now = Date.now()
    let shiftMs = INTO_ROUND_MS - (now % ROUND_MS)
    const run = await start({
      seed: 61,
      rates: RATES,
      start: now + shiftMs,
      clock: {
        ...SYSTEM_CLOCK,
        now: () => toMicros(SYSTEM_CLOCK.now() + shiftMs * 1000),
      },
    })
    onTestFinished(() => run.destroy())
    const rows = (): Counts => countRows(run.recorder.status().venues)
    await until('rows of all venues', RECORDING_MS, () =>
      Object.values(rows()).every((count) => count > ROWS) ? true : undefined,
    )
    shiftMs += stepMs
    const [before, books] = [rows(), booksOf(run.recorder.status().venues)]
    await pause(AFTER_STEP_MS)
    const after = rows()
    for (const venue of EMULATED_VENUES) {
      expect({ venue, isRecorded: after[venue] > before[venue] + ROWS }).toEqual({
        venue,
        isRecorded: true,
      })
    }
    await until('as many books as before', RECORDING_MS, () => {
      const open = booksOf(run.recorder.status().venues)
      return Object.entries(books).every(([venue, count]) => open[venue]! >= count) || undefined
    })
    await run.stop()
    expect(await findLosses(run.store)).toEqual([])
  })

  test.skipIf(!existsSync(LIBFAKETIME))(
    'as the operating system says loses no book of any venue',
    async (context) => {
      const now = Date.now()
      const shiftMs = INTO_ROUND_MS - (now % ROUND_MS)
      const place = await createEmulatedHome(context, {
        seed: 62,
        rates: RATES,
        start: now + shiftMs,
      })
      const file = join(place.home, 'time')
      const shiftBy = (ms: number): void => writeFileSync(file, `${ms < 0 ? '' : '+'}${ms / 1000}`)
      shiftBy(shiftMs)
      const recorder = await place.startRecorder({
        LD_PRELOAD: LIBFAKETIME,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      })
      const rows = async (one: RecorderProcess): Promise<Counts> =>
        countRows((await one.status()).recorder!.venues)
      await until('rows of all venues', RECORDING_MS, async () =>
        Object.values(await rows(recorder)).every((count) => count > ROWS) ? true : undefined,
      )
      shiftBy(shiftMs + stepMs)
      const before = await rows(recorder)
      await pause(AFTER_STEP_MS)
      const after = await rows(recorder)
      for (const venue of EMULATED_VENUES)
        expect(after[venue]).toBeGreaterThan(before[venue] + ROWS)
      expect(await recorder.end('SIGTERM')).toBe(0)
      const store = openEmbeddedStore({ file: place.data.tape, readOnly: true })
      context.onTestFinished(() => store.close())
      expect(await findLosses(store)).toEqual([])
      expect((await store.verify()).problems).toEqual([])
    },
  )
})

/** How many books miss nothing, of each venue. */
function booksOf(
  venues: Readonly<Partial<Record<VenueId, { books: { open: number } }>>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(EMULATED_VENUES.map((id) => [id, venues[id]!.books.open]))
}
