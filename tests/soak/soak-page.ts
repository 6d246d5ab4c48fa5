import { medianOf, type DiskSize } from './disk-size.ts'
import type { FoldResult } from './fold.ts'

/** Everything that a run found out. */
export type SoakFindings = {
  readonly date: Date
  readonly minutes: number
  readonly speed: number
  /** Orders of a market each second at speed 1. */
  readonly changes: number
  readonly ageSeconds: number
  readonly sizes: readonly DiskSize[]
  readonly memoryMb: readonly number[]
  readonly messages: number
  readonly fold: FoldResult
  readonly retentionGaps: number
  readonly verified: { readonly observations: number; readonly problems: readonly unknown[] }
  readonly doctor: number
  readonly exit: number | null
}

/** What a run shows: the page, and what is not as promised. */
export type SoakVerdict = { readonly page: string; readonly broken: readonly string[] }

const FLAT = 0.1

/** Judges a run and writes its page. */
export function judgeSoak(found: SoakFindings): SoakVerdict {
  const { sizes, fold, verified, ageSeconds } = found
  // The first rows go after the age, the first markets after twice the age.
  const warmUp = 2 * ageSeconds + 60
  const minutes = byMinute(sizes)
  const judged = minutes.filter(({ at }) => at >= warmUp).map(({ total }) => total)
  const middle = medianOf(judged)
  const far = Math.max(0, ...judged.map((total) => Math.abs(total / middle - 1)))
  const broken = [
    ...(judged.length < 2
      ? ['the run is too short: nothing is judged before the limits bite']
      : []),
    ...(far <= FLAT ? [] : [`the disk is up to ${percent(far)} away from its median`]),
    ...(fold.holes === fold.declared ? [] : [`${fold.holes - fold.declared} holes undeclared`]),
    ...fold.complaints.slice(0, 10),
    ...(verified.problems.length === 0 ? [] : [`verify: ${JSON.stringify(verified.problems[0])}`]),
    ...(found.doctor === 0 ? [] : [`doctor exits with ${found.doctor}`]),
    ...(found.exit === 0 ? [] : [`serve exits with ${found.exit}`]),
  ]
  const age = ageSeconds % 60 === 0 ? `${ageSeconds / 60} min` : `${ageSeconds} s`
  return {
    broken,
    page: `# A recorder with retention of minutes

\`npm run soak:retention -- --minutes ${found.minutes} --age ${ageSeconds} --speed ${found.speed} --changes ${found.changes} --page FILE\` wrote this
page on ${found.date.toISOString().slice(0, 10)}: emulated venues at speed ${found.speed}, limits of ${age} for tape, journal, quarantine and market records, ${found.messages.toLocaleString('en')} messages.

| what | figure |
|---|---|
| disk after the warm-up of ${Math.round(warmUp / 60)} min | median ${megabytes(middle)} MB, every minute within ${percent(far)} of it |
| rows that a client saw while it ran | ${fold.rows.toLocaleString('en')} of ${fold.markets} markets |
| of them served no more at the end | ${fold.lostRows.toLocaleString('en')} rows in ${fold.holes} books, ${fold.declared} declared as gaps |
| markets removed with their records | ${fold.removedMarkets} of those seen, named by the notice \`markets_removed\` |
| gaps \`retention\` listed at the end | ${found.retentionGaps} |
| \`verify\` | ${verified.problems.length} problems in ${verified.observations.toLocaleString('en')} observations |
| memory of all processes | ${Math.round(medianOf(found.memoryMb.slice(0, 20)))} MB at first, ${Math.round(medianOf(found.memoryMb.slice(-20)))} MB at the end |

${broken.length === 0 ? 'Every hole is declared with the same bounds by pages, coverage and `/v3/gaps`.' : broken.map((text) => `- **broken**: ${text}`).join('\n')}

## Disk by minute

With limits by age the disk follows the rate of messages, so a run needs a machine that keeps up.

| minute | messages | tape, MB | its log, MB | journal, MB | other, MB | total, MB |
|---|---|---|---|---|---|---|
${minutes.map(toLine).join('\n')}
`,
  }
}

// The median of each minute: a checkpoint or a new file of the journal moves single sizes.
function byMinute(sizes: readonly DiskSize[]): DiskSize[] {
  const groups = Map.groupBy(sizes, ({ at }) => Math.floor(at / 60))
  return [...groups].map(([minute, group]) => {
    const middle = (name: keyof DiskSize): number => medianOf(group.map((size) => size[name]))
    const [tape, log, journal, other] = ['tape', 'log', 'journal', 'other'].map((name) =>
      middle(name as keyof DiskSize),
    ) as [number, number, number, number]
    const messages = group.at(-1)!.messages - group[0]!.messages
    return { at: minute * 60, tape, log, journal, other, total: middle('total'), messages }
  })
}

function toLine({ at, messages, tape, log, journal, other, total }: DiskSize): string {
  const bytes = [tape, log, journal, other, total].map(megabytes)
  return `| ${[Math.round(at / 60), messages.toLocaleString('en'), ...bytes].join(' | ')} |`
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
