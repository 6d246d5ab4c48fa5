import { existsSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiReader, marketPath, placeOf, type ListedMarket } from './api-reader.ts'
import { createService, run, type ServiceProcess } from './service-process.ts'
import { openBrowser, openVisitor, shownBook } from './visitor.ts'

const folder = process.env['PRIORBOOK_RECORDINGS']
const recordings = folder === undefined ? undefined : join(folder, 'venueb/ws-gold15m')
const isThere = recordings !== undefined && existsSync(recordings)
if (!isThere) console.log('skipped: PRIORBOOK_RECORDINGS names no recordings')

const PLAYED_MS = 10_000

describe.skipIf(!isThere)('the explorer over recordings', () => {
  let service: ServiceProcess
  let browser: Browser
  let api: ApiReader
  let key: string
  let densest: ListedMarket

  beforeAll(async () => {
    service = await createService(['--upstream', 'none', '--workers', '1'], (data) => {
      run('import', 'venueb', '--data', data, recordings!)
    })
    await service.start()
    key = service.keyOf('unlimited')
    api = new ApiReader(service.url, key)
    densest = await api.busiest('venueb', '')
    browser = await openBrowser()
  })

  afterAll(async () => {
    await browser?.close()
    await service?.destroy()
  })

  it('shows the book of the interface at ten random times of the densest market', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    const from = Date.parse(densest.coverage.first_time) * 1000
    const to = Date.parse(densest.coverage.last_time) * 1000
    let state = 11
    for (let turn = 0; turn < 10; turn++) {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      const at = Math.round(from + ((to - from) * state) / 2_147_483_648)
      await page.goto(`${placeOf(densest)}?t=${at}`)
      await page.getByLabel('every level').check()
      await page.locator('.ladder[data-sequence], .no-book').first().waitFor()
      await page.waitForTimeout(200)
      await page.locator('.ladders:not(.seeking)').waitFor()
      const shown = { yes: await shownBook(page, 'Yes'), no: await shownBook(page, 'No') }
      const yes = await api.bookAt(densest, String(at), 0)
      expect({ at, ...shown }).toEqual({
        at,
        yes,
        no: await api.bookAt(densest, String(at), 1),
      })
    }
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('shows the gaps of the recording as gaps', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    type Gap = { reason: string; start_time: string; end_time: string | null }
    const gaps = (await api.get(`/v3/gaps?venue=venueb&market=${densest.market_id}`)) as Gap[]
    const holes = gaps.filter(
      ({ reason, end_time: end }) => end !== null && /silent|disconnected/.test(reason),
    )
    expect(holes.length).toBeGreaterThan(0)
    for (const { reason, start_time: start, end_time: end } of holes) {
      const middle = (Date.parse(start) + Date.parse(end!)) / 2
      await page.goto(`${placeOf(densest)}?t=${new Date(middle).toISOString()}`)
      await page
        .getByText(`Gap: ${reason.replaceAll('_', ' ')}`)
        .first()
        .waitFor()
      await page
        .locator('.gap-table tr', { hasText: reason.replaceAll('_', ' ') })
        .first()
        .waitFor()
    }
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('plays books that are those of the interface, level by level', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    await page.goto(placeOf(densest))
    await playFrom(page, 5500)
    await page.getByLabel('every level').check()
    type Shot = { sequence: string; received: string; name: string; book: unknown }
    const shots: Shot[] = []
    while (shots.length < 12) {
      const name = shots.length % 2 === 0 ? 'Yes' : 'No'
      const ladder = page.locator(`.ladder[data-outcome="${name}"]`)
      const received = (await ladder.getAttribute('data-received')) ?? ''
      const sequence = (await ladder.getAttribute('data-sequence')) ?? ''
      const book = await shownBook(page, name)
      // A ladder that went on while it was read is read again.
      if (sequence === '' || (await ladder.getAttribute('data-sequence')) !== sequence) continue
      shots.push({ sequence, received, name, book })
      await page.waitForTimeout(200)
    }
    expect(new Set(shots.map(({ sequence }) => sequence)).size).toBeGreaterThan(6)
    let compared = 0
    for (const { sequence, received, name, book } of shots) {
      const path = `${marketPath(densest)}/orderbook?at=${received}`
      const data = (await api.get(path)) as { sequence: number } | { sequence: number }[]
      // Of several books of one microsecond the interface gives the last.
      if (String([data].flat()[0]?.sequence) !== sequence) continue
      const outcome = name === 'Yes' ? 0 : 1
      expect({ sequence, book }).toEqual({
        sequence,
        book: await api.bookAt(densest, received, outcome),
      })
      compared++
    }
    expect(compared).toBeGreaterThan(2)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })

  it('replays the densest market at ten times its pace, smoothly', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    await page.goto(placeOf(densest))
    await playFrom(page, 1500)
    await page.waitForTimeout(500)
    const session = await page.context().newCDPSession(page)
    const trace = await traced(session, () =>
      page.evaluate(
        (ms) =>
          new Promise<number[]>((resolve) => {
            const times: number[] = []
            const started = performance.now()
            const turn = (now: number): void => {
              times.push(now)
              if (now - started < ms) requestAnimationFrame(turn)
              else resolve(times)
            }
            requestAnimationFrame(turn)
          }),
        PLAYED_MS,
      ),
    )
    const frames = trace.result.slice(1).map((time, index) => time - trace.result[index]!)
    const work = workByFrame(trace.events)
    const figures = {
      'load of the machine': loadavg()[0]!.toFixed(1),
      cores: availableParallelism(),
      frames: frames.length,
      'frame time p50': percentile(frames, 0.5),
      'frame time p95': percentile(frames, 0.95),
      'script and paint p50': percentile(work, 0.5),
      'script and paint p95': percentile(work, 0.95),
      'script of the worker, a second': workerOfSecond(trace.events),
    }
    console.log('replay of the densest market at ×10, without a GPU, in ms:', figures)
    // Figures are reported; a shared machine decides about them too. So does the test itself: its
    // browser hands it a copy of every message, which takes half a core that a visitor's does not.
    expect(frames.length).toBeGreaterThan(50)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })
})

// Plays at ×10 from a place of the slider, which has ten thousand.
async function playFrom(page: Page, place: number): Promise<void> {
  await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
  await page.getByLabel('Speed').selectOption('10')
  await page.getByLabel('Time shown').evaluate((element, value) => {
    const input = element as HTMLInputElement
    input.value = String(value)
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }, place)
  await page.waitForTimeout(500)
  await page.getByRole('button', { name: 'Play' }).click()
}

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly ts: number
  readonly dur?: number
  /** Time of the thread itself: what other programs take of the machine is not in it. */
  readonly tdur?: number
  readonly tts?: number
  readonly tid: number
  readonly args?: { readonly name?: string }
}

async function traced<Result>(
  session: CDPSession,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly events: readonly TraceEvent[] }> {
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]))
  })
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: ['devtools.timeline'],
    },
  })
  const result = await work()
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await done
  return { result, events }
}

const WORK = new Set([
  'FunctionCall',
  'FireAnimationFrame',
  'TimerFire',
  'EventDispatch',
  'RunMicrotasks',
  'UpdateLayoutTree',
  'Layout',
  'PrePaint',
  'Paint',
  'Layerize',
  'Commit',
])

/**
 * Milliseconds that script and paint took of the main thread in every frame; outermost events only,
 * nothing is counted twice.
 */
function workByFrame(events: readonly TraceEvent[]): number[] {
  const main = events.find(({ name }) => name === 'FireAnimationFrame')?.tid
  const pieces = events
    .filter(({ name, ph, tid }) => ph === 'X' && tid === main && WORK.has(name))
    .sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
  // The last step of a frame is its layers: what stands between two of them is one frame.
  const ends = pieces.filter(({ name }) => name === 'Layerize').map(({ ts }) => ts)
  const sums: number[] = []
  let next = 0
  let covered = 0
  for (const end of ends) {
    let sum = 0
    for (; next < pieces.length && pieces[next]!.ts <= end; next++) {
      const { ts, dur = 0, tdur = dur } = pieces[next]!
      if (ts < covered) continue
      sum += tdur
      covered = ts + dur
    }
    sums.push(sum / 1000)
  }
  return sums.slice(1)
}

/** Milliseconds of each second that the replay's worker spent in script. */
function workerOfSecond(events: readonly TraceEvent[]): number {
  const worker = events.find(
    ({ name, args }) =>
      name === 'thread_name' && args?.name?.startsWith('DedicatedWorker') === true,
  )?.tid
  const calls = events.filter(
    ({ name, ph, tid }) => ph === 'X' && name === 'FunctionCall' && tid === worker,
  )
  const used = calls.reduce((sum, { dur = 0, tdur = dur }) => sum + tdur, 0)
  const span = (calls.at(-1)?.ts ?? 0) - (calls[0]?.ts ?? 0)
  return span === 0 ? 0 : Math.round((used / span) * 1000)
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]! * 10) / 10
  )
}
