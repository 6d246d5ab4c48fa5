import { availableParallelism, loadavg } from 'node:os'
import type { CDPSession } from 'playwright-core'
import type { Driven } from './plain-page.ts'

const PLAYED_MS = 10_000

/** Plays the market of a page at ×10 from a place of the slider, which has ten thousand. */
export async function playFrom(page: Driven, place: number): Promise<void> {
  await page.evaluate(async (value) => {
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    while (document.querySelector('.heatmap canvas[data-ready="yes"]') === null) await pause(50)
    const speed = document.querySelector<HTMLSelectElement>('.speed select')!
    speed.value = '10'
    speed.dispatchEvent(new Event('change', { bubbles: true }))
    const slider = document.querySelector<HTMLInputElement>('[aria-label="Time shown"]')!
    slider.value = String(value)
    slider.dispatchEvent(new Event('input', { bubbles: true }))
    await pause(500)
    document.querySelector<HTMLButtonElement>('.scrub-buttons .play')!.click()
  }, place)
}

/** What frames took while a page played, in milliseconds. */
export async function measureFrames(page: Driven, session: CDPSession) {
  const { result, events } = await traced(session, () => page.evaluate(playedFrames, PLAYED_MS))
  const { times, rows, ladders, size } = result
  const frames = times.slice(1).map((time, index) => time - times[index]!)
  const work = workByFrame(events)
  return {
    'load of the machine': loadavg()[0]!.toFixed(1),
    cores: availableParallelism(),
    page: size,
    frames: frames.length,
    'frame time p50': percentile(frames, 0.5),
    'frame time p95': percentile(frames, 0.95),
    'script and paint p50': percentile(work, 0.5),
    'script and paint p95': percentile(work, 0.95),
    'script of the worker, a second': workerOfSecond(events),
    'rows a second': Math.round((rows * 1000) / PLAYED_MS),
    'books shown a second': Math.round((ladders * 1000) / PLAYED_MS),
  }
}

type Played = {
  readonly times: number[]
  readonly rows: number
  readonly ladders: number
  readonly size: string
}

// Runs in the page: the times of all frames, and how far its first ladder went.
function playedFrames(ms: number): Promise<Played> {
  return new Promise((resolve) => {
    const ladder = document.querySelector<HTMLElement>('.ladder')!
    const sequence = (): number => Number(ladder.dataset['sequence'] ?? 0)
    const times: number[] = []
    const started = performance.now()
    const first = sequence()
    let last = first
    let ladders = 0
    const turn = (now: number): void => {
      times.push(now)
      if (sequence() !== last) ladders++
      last = sequence()
      if (now - started < ms) requestAnimationFrame(turn)
      else resolve({ times, rows: last - first, ladders, size: `${innerWidth} × ${innerHeight}` })
    }
    requestAnimationFrame(turn)
  })
}

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly ts: number
  readonly dur?: number
  /** Time of the thread itself: what other programs take of the machine is not in it. */
  readonly tdur?: number
  readonly tts?: number
  readonly pid: number
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
  const main = events.find(({ name }) => name === 'FireAnimationFrame')
  const pieces = events
    .filter(({ name, ph, pid, tid }) => {
      return ph === 'X' && pid === main?.pid && tid === main.tid && WORK.has(name)
    })
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
