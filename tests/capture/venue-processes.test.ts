import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { check } from './checker.ts'
import { countOf, createEmulatedHome } from './emulated-home.ts'
import { until, type RecorderProcess } from './recorder-process.ts'
import { createSeenRows } from './seen-rows.ts'
import { isOfUnread } from './unread.ts'

const KILLS = countOf(20, 2)
const RATES = { changes: 100, trades: 2, pauses: 0 }
const WAIT_MS = 60_000
const TIMEOUT_MS = countOf(3_600_000, 300_000)
// What was on its way when the recorder was told to stop: unread in a socket, not yet in the log.
const ON_ITS_WAY = 500_000
const KILLED: VenueId = 'venueb'

const now = (): number => Date.now() * 1000

describe('a process for each venue', { timeout: TIMEOUT_MS }, () => {
  test(`killed ${KILLS} times, costs only its own venue, and one tape has all rows`, async (context) => {
    const place = await createEmulatedHome(context, { seed: 41, rates: RATES })
    const recorder = await place.startRecorder({ PRIORBOOK_PROCESSES: 'venue' })
    await untilRecording(recorder)
    const reader = openEmbeddedStore({ file: place.data.tape, readOnly: true })
    context.onTestFinished(() => reader.close())
    const seen = createSeenRows()
    const [begun, deaths] = [now(), [] as number[]]
    for (let turn = 0; turn < KILLS; turn++) {
      await pause(300)
      await seen.look(reader)
      const pid = lastPid(recorder, KILLED)
      process.kill(pid, 'SIGKILL')
      deaths.push(now())
      await until('another process', WAIT_MS, () =>
        lastPid(recorder, KILLED) === pid ? undefined : true,
      )
      await untilRecording(recorder)
    }
    await pause(300)
    await seen.look(reader)
    const ended = now() - ON_ITS_WAY
    expect(await recorder.end('SIGTERM')).toBe(0)
    expect(recorder.noise).toEqual([])

    const store = openEmbeddedStore({ file: place.data.tape })
    context.onTestFinished(() => store.close())
    await store.seal()
    expect(seen.observations).toBeGreaterThan(500)
    expect(await seen.differences(store)).toEqual([])
    const down = await store.gaps({ reason: 'recorder_down' })
    // Those that are open began with the stop.
    const during = down.filter(({ end }) => end !== undefined && end > begun)
    expect([...new Set(during.map(({ venue }) => venue))]).toEqual([KILLED])
    expect(during.length).toBeGreaterThanOrEqual(KILLS)
    const verdict = await check(place.emulator.truth.entries, store, { until: ended })
    expect(verdict.complaints.filter((text) => !isOfUnread(text, deaths))).toEqual([])
    expect(verdict.rows).toBeGreaterThan(seen.observations)
    const { differences, damage } = await compareWithJournal(store, place.data)
    expect([...differences, ...damage]).toEqual([])
  })

  test('ends with the first one, which goes on alone after it was killed', async (context) => {
    const place = await createEmulatedHome(context, { seed: 42, rates: RATES })
    const first = await place.startRecorder({ PRIORBOOK_PROCESSES: 'venue' })
    await untilRecording(first)
    const pids = VENUE_IDS.map((venue) => lastPid(first, venue))
    await first.end('SIGKILL')
    await until('the end of all processes', WAIT_MS, () =>
      pids.some((pid) => isAlive(pid)) ? undefined : true,
    )
    const second = await place.startRecorder()
    await untilRecording(second)
    expect(await second.end('SIGTERM')).toBe(0)
    const store = openEmbeddedStore({ file: place.data.tape })
    context.onTestFinished(() => store.close())
    await store.seal()
    const { differences, damage } = await compareWithJournal(store, place.data)
    expect([...differences, ...damage]).toEqual([])
  })

  test('is refused for a tape that machines share', async (context) => {
    const place = await createEmulatedHome(context, { seed: 43 })
    const env = { PRIORBOOK_PROCESSES: 'venue', PRIORBOOK_STORE: 'postgres://127.0.0.1:1/none' }
    const recorder = await place.startRecorder(env)
    expect(await recorder.ended).not.toBe(0)
    expect(recorder.noise.join('\n')).toContain('processes=venue')
  })
})

async function untilRecording(recorder: RecorderProcess): Promise<void> {
  await until('books of every venue', WAIT_MS, async () => {
    const { venues } = (await recorder.status()).recorder!
    const isOpen = (venue: VenueId): boolean => {
      const own = venues[venue]
      return own !== undefined && own.books.open >= 4 && own.counts.observations > 0
    }
    return VENUE_IDS.every(isOpen) ? true : undefined
  })
}

/** The newest process of a venue, as the log says. */
function lastPid({ logs }: RecorderProcess, venue: VenueId): number {
  const told = logs.filter(
    ({ msg, venue: of }) => msg === 'a process records a venue' && of === venue,
  )
  return told.at(-1)!['pid'] as number
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
