import type { Gap } from '@priorbook/sdk/domain'
import type { Verdict } from '../capture/checker.ts'
import type { LiveReader, PageReader, Prober } from './chaos-readers.ts'
import type { ChaosService, Usage } from './chaos-service.ts'

/** Everything that a run found out. */
export type Findings = {
  readonly minutes: number
  readonly faults: number
  readonly fills: number
  readonly canFill: boolean
  readonly service: ChaosService
  readonly code: number | null
  readonly pages: PageReader
  readonly prober: Prober
  readonly live: LiveReader
  readonly liveDifferences: readonly string[]
  readonly verdict: Verdict
  readonly seen: {
    readonly rows: number
    readonly trades: number
    readonly differences: readonly string[]
  }
  readonly journal: readonly string[]
  readonly downs: readonly Gap[]
  readonly fulls: readonly Gap[]
  /** Gaps of full disks that are open although a full book was on the wire since. */
  readonly unended: readonly string[]
}

/** One promise, what was seen, and what broke it; `undefined` where the run could not tell. */
type Promised = {
  readonly promise: string
  readonly seen: string
  readonly broken: readonly string[] | undefined
}

// The figures of the promises, for a machine that does nothing else.
const START_MS = 10_000
const RESUME_MS = 5000
const RSS_MB = 1000
const DESCRIPTORS = 32
const SLOPE_PER_HOUR = 0.01
// The first hour after a start shows caches that fill, not a leak; a short stretch shows chance. A calm run of
// hours is `soak:memory`.
const WARM_MS = 55 * 60_000
const SLOPE_MINUTES = 30

/** Judges the promises, in the order of a message: from the wire to a reader. */
export function judge(found: Findings): readonly Promised[] {
  return [...judgeTape(found), ...judgeService(found), ...judgeReaders(found), ...judgeUse(found)]
}

function judgeTape({ verdict, seen, journal, downs, fulls, unended }: Findings): Promised[] {
  const spans = downs.flatMap(({ start, end }) => (end === undefined ? [] : [(end - start) / 1e6]))
  const longest = spans.length === 0 ? 0 : Math.max(...spans)
  const reasons = Object.entries(verdict.gaps).map(([reason, count]) => `${count} ${reason}`)
  return [
    {
      promise: 'every book on the wire is a row or inside a gap; every row and gap has its cause',
      seen: `${verdict.rows} rows of ${verdict.payloads} books, ${verdict.trades} trades, ${verdict.samples} samples; gaps: ${reasons.join(', ')}`,
      broken: verdict.complaints,
    },
    {
      promise: 'a row that was read once stays, unchanged and once',
      seen: `${seen.rows} rows and ${seen.trades} trades read while it ran`,
      broken: seen.differences,
    },
    {
      promise: 'the journal yields the same tape again',
      seen: `${journal.length} differences`,
      broken: journal,
    },
    {
      promise: 'a pause of the recorder is a gap with a beginning and an end',
      seen: `${spans.length} gaps, the longest ${longest.toFixed(1)} s`,
      // The stop at the end leaves gaps open.
      broken: spans.length === 0 ? ['no gap recorder_down has an end'] : [],
    },
    {
      promise: 'a full disk is a gap that ends',
      seen: `${fulls.length} gaps`,
      broken: unended,
    },
  ]
}

function judgeService({ service, code, fills, canFill }: Findings): Promised[] {
  const { starts, waits, resumes, orphans, noise } = service
  return [
    {
      promise: `after kill -9 the service answers within ${START_MS / 1000} s`,
      seen: `${service.deaths.length} kills; slowest start ${Math.max(...starts)} ms, and at most ${Math.max(...waits)} ms of waiting for a processor`,
      broken: starts.filter((ms) => ms > START_MS).map((ms) => `${ms} ms`),
    },
    {
      promise: 'kill -9 of the service takes its workers along',
      seen: `${orphans} workers left after a second`,
      broken: orphans === 0 ? [] : [`${orphans} workers`],
    },
    {
      promise: `recording goes on within ${RESUME_MS / 1000} s of space on the disk`,
      seen: canFill
        ? `${fills} full disks; slowest ${Math.max(0, ...resumes)} ms`
        : 'not tried: no private tmpfs can be mounted here',
      broken: canFill ? resumes.filter((ms) => ms > RESUME_MS).map((ms) => `${ms} ms`) : undefined,
    },
    {
      promise: 'it ends in order when it is asked to, and prints nothing unexpected',
      seen: `exit status ${code}, ${noise.length} lines`,
      broken: [...(code === 0 ? [] : [`exit status ${code}`]), ...noise],
    },
  ]
}

function judgeReaders({ pages, prober, live, liveDifferences }: Findings): Promised[] {
  const times = prober.times.toSorted((a, b) => a - b)
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0
  return [
    {
      promise: 'walks are exact: the rows are those of the receipt, in order',
      seen: `${pages.walks} walks, ${pages.rows} rows`,
      broken: pages.walks === 0 ? ['no walk ended'] : pages.wrong,
    },
    {
      promise: 'while it runs, no request fails',
      seen: `${prober.answered} requests answered, p99 ${p99.toFixed(0)} ms`,
      broken: [...prober.failed, ...pages.failed],
    },
    {
      promise: 'the stream loses nothing in silence',
      seen: `${live.rows} rows of ${live.books.size} books, ${live.disconnects} lost connections, ${live.resyncs} resyncs`,
      broken: [...live.holes, ...live.errors],
    },
    {
      promise: 'in the end the books of the stream are those of the store',
      seen: `${live.books.size} books`,
      broken: live.books.size === 0 ? ['no book came'] : liveDifferences,
    },
  ]
}

function judgeUse({ service: { usage } }: Findings): Promised[] {
  const most = Math.max(0, ...usage.map(({ rssMb }) => rssMb))
  const warm = usage.filter(({ at }) => at >= (usage[0]?.at ?? 0) + WARM_MS)
  const floors = toFloors(warm)
  const perHour = slopeOf(floors)
  const mean = floors.reduce((sum, { mb }) => sum + mb, 0) / Math.max(1, floors.length)
  const isLong = floors.length >= SLOPE_MINUTES
  const slope = `${perHour.toFixed(1)} MB an hour, from ${mean.toFixed(0)} MB on average, over ${floors.length} min; without mapped files and the first 55 min`
  const first = usage.slice(30, 40).map(({ descriptors }) => descriptors)
  const last = usage.at(-1)?.descriptors ?? 0
  const growth = last - Math.max(0, ...first)
  return [
    {
      promise: `memory of all processes stays below ${RSS_MB} MB`,
      seen: `at most ${most.toFixed(0)} MB`,
      broken: most < RSS_MB ? [] : [`${most.toFixed(0)} MB`],
    },
    {
      promise: `memory grows at most ${SLOPE_PER_HOUR * 100} % an hour`,
      seen: isLong ? slope : `${slope}: too short to judge`,
      broken: isLong ? (perHour > SLOPE_PER_HOUR * mean ? [slope] : []) : undefined,
    },
    {
      promise: 'descriptors do not pile up',
      seen: `${last} at the end, ${growth} more than at first`,
      broken: growth > DESCRIPTORS ? [`${growth} more`] : [],
    },
  ]
}

/** The least memory of a minute: what is left when garbage is collected. */
type Floor = { readonly minute: number; readonly mb: number }

function toFloors(usage: readonly Usage[]): readonly Floor[] {
  const floors = new Map<number, number>()
  for (const { at, ownMb } of usage) {
    const minute = Math.floor((at - usage[0]!.at) / 60_000)
    floors.set(minute, Math.min(ownMb, floors.get(minute) ?? Infinity))
  }
  return [...floors].map(([minute, mb]) => ({ minute, mb }))
}

// Least squares, in MB an hour.
function slopeOf(floors: readonly Floor[]): number {
  const count = Math.max(1, floors.length)
  const meanMinute = floors.reduce((sum, { minute }) => sum + minute, 0) / count
  const meanMb = floors.reduce((sum, { mb }) => sum + mb, 0) / count
  let above = 0
  let below = 0
  for (const { minute, mb } of floors) {
    above += (minute - meanMinute) * (mb - meanMb)
    below += (minute - meanMinute) ** 2
  }
  return below === 0 ? 0 : (60 * above) / below
}

const SHOWN = 5

/** The page, and whether every promise held. */
export function printPage(promises: readonly Promised[]): {
  readonly lines: readonly string[]
  readonly isWhole: boolean
} {
  const lines: string[] = ['', 'What was promised, and what was seen', '']
  for (const { promise, seen, broken } of promises) {
    const mark = broken === undefined ? '–     ' : broken.length === 0 ? 'held  ' : 'BROKEN'
    lines.push(`${mark}  ${promise}`, `        ${seen}`)
    for (const text of broken?.slice(0, SHOWN) ?? []) lines.push(`        ! ${text}`)
    if ((broken?.length ?? 0) > SHOWN) lines.push(`        ! and ${broken!.length - SHOWN} more`)
  }
  const wrong = promises.filter(({ broken }) => (broken?.length ?? 0) > 0).length
  const judged = promises.filter(({ broken }) => broken !== undefined).length
  lines.push('', `${judged - wrong} of ${judged} promises held`)
  return { lines, isWhole: wrong === 0 }
}

/** The page as Markdown, for the documentation. */
export function toMarkdown(
  promises: readonly Promised[],
  run: {
    readonly minutes: string
    readonly speed: string
    readonly seed: string
    readonly date: Date
  },
): string {
  const { minutes, speed, seed, date } = run
  const rows = promises.map(({ promise, seen, broken }) => {
    const held = broken === undefined ? 'not judged' : broken.length === 0 ? 'yes' : '**no**'
    const why = (broken ?? []).slice(0, SHOWN).map((text) => `<br>${text}`)
    return `| ${[promise, held, seen + why.join('')].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `# A run of everything together

\`npm run chaos -- --minutes ${minutes} --speed ${speed} --seed ${seed} --page FILE\` wrote this page on ${date.toISOString().slice(0, 10)}.
[Operations](operations.md#chaos) says what it does.

| promise | held | seen |
|---|---|---|
${rows.join('\n')}
`
}
