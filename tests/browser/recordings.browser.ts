import { existsSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import type { Browser, CDPSession } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiReader, placeOf, type ListedMarket } from './api-reader.ts'
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

  it('replays the densest market at ten times its pace, smoothly', async () => {
    const visitor = await openVisitor(browser, service.url, { key })
    const { page } = visitor
    await page.goto(placeOf(densest))
    await page.locator('.heatmap canvas[data-ready="yes"]').waitFor()
    await page.getByLabel('Speed').selectOption('10')
    await page.getByLabel('Time shown').evaluate((element) => {
      const input = element as HTMLInputElement
      input.value = '1500'
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })
    await page.waitForTimeout(500)
    await page.getByRole('button', { name: 'Play' }).click()
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
    }
    console.log('replay of the densest market at ×10, without a GPU, in ms:', figures)
    // Figures are reported; a shared machine decides about them too.
    expect(frames.length).toBeGreaterThan(50)
    expect(visitor.errors).toEqual([])
    await visitor.close()
  })
})

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly ts: number
  readonly dur?: number
  /** Time of the thread itself: what other programs take of the machine is not in it. */
  readonly tdur?: number
  readonly tts?: number
  readonly tid: number
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

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]! * 10) / 10
  )
}
