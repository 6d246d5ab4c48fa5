import { statSync } from 'node:fs'
import {
  parsedOption,
  printLines,
  printSpan,
  ProgressBar,
  UsageError,
  wholeOption,
} from '../../command-line/index.ts'
import { printMicros, type Micros } from '../../domain/index.ts'
import { defineCommand, printJson } from '../command.ts'
import { CliError } from '../errors.ts'
import { compareCapture, type Overlap } from '../overlap/compare-capture.ts'
import type { Hole } from '../overlap/series-comparison.ts'

const SHOWN = 20
const LINE_MS = 10_000

/** `overlap`: compares one's own capture with what the service recorded. */
export const OVERLAP = defineCommand({
  name: 'overlap',
  args: 'FILE',
  mostArgs: 1,
  about: 'Compare your own capture with what the service recorded.',
  more:
    'FILE has one message of a venue a line, as it came from the socket, best as {"received": TIME, "message": …}; ' +
    'or rows of this service as NDJSON. Exit status 6: they do not agree.',
  options: {
    depth: wholeOption(100, 'How many levels of each side to compare, 5 by default.'),
    agree: parsedOption(
      'The share of equal books that is enough, 0.999 by default.',
      { value: 'SHARE' },
      shareOf,
    ),
    'max-offset': wholeOption(
      86_400_000,
      'Max offset of the clocks in milliseconds, 1000 by default.',
    ),
    window: wholeOption(3600, 'Max offset of the clocks to look for in seconds, 120 by default.'),
    hole: wholeOption(86_400, 'The shortest hole in seconds, 5 by default.'),
    tolerance: wholeOption(60_000, 'How far apart both may receive a message, in milliseconds.'),
  },
  examples: [
    'priorbook overlap my-capture.ndjson',
    'priorbook overlap my-capture.ndjson --agree 1 --depth 10 --json',
  ],
  async run(context) {
    const { args, options, io, isJson, isQuiet, signal } = context
    const [path] = args
    if (path === undefined) throw new UsageError('a file is missing')
    const bytes = statSync(path).size
    const bar = isQuiet ? undefined : new ProgressBar(io, 'overlap', LINE_MS)
    const { depth = 5, window = 120, hole = 5, tolerance, agree = 0.999 } = options
    const overlap = await compareCapture({
      client: context.client(),
      path,
      depth,
      window: window * 1_000_000,
      hole: hole * 1_000_000,
      tolerance: tolerance === undefined ? undefined : tolerance * 1000,
      signal,
      onProgress: (done, what) => bar?.update(Math.min(done, bytes), bytes, what),
    })
    bar?.end()
    const reasons = judge(overlap, agree, (options['max-offset'] ?? 1000) * 1000)
    if (isJson) await printJson(context, toJson(overlap, reasons))
    else await printLines(io, [...toLines(overlap), ...reasons.map((one) => `NOT EQUAL  ${one}`)])
    if (reasons.length === 0) {
      if (!isJson) await printLines(io, ['the capture and the service agree'])
      return
    }
    throw new CliError('incomplete', `the capture and the service do not agree: ${reasons[0]}`)
  },
})

function shareOf(text: string): number {
  const share = Number(text)
  if (share >= 0 && share <= 1) return share
  throw new UsageError(`${text} is not a share from 0 to 1`)
}

/** Why both do not agree; empty where they do. Holes of the capture are not the fault of the service. */
function judge(overlap: Overlap, agree: number, maxOffset: number): string[] {
  const { totals, offset, serviceHoles, unrecorded } = overlap
  const reasons: string[] = []
  if (offset === undefined) reasons.push('no book was found on both sides')
  else if (Math.abs(offset.median) > maxOffset) {
    reasons.push(`the clocks differ by ${spanText(offset.median)}`)
  }
  const share = totals.compared === 0 ? 0 : totals.depth / totals.compared
  if (offset !== undefined && (totals.compared === 0 || share < agree)) {
    reasons.push(`${totals.compared - totals.depth} of ${totals.compared} books differ`)
  }
  const undeclared = serviceHoles.filter(({ declared }) => declared === undefined)
  if (undeclared.length > 0) {
    reasons.push(`the service has ${undeclared.length} holes that it does not declare`)
  }
  if (unrecorded.length > 0) reasons.push(`${unrecorded.length} instruments are not recorded`)
  return reasons
}

function toLines(overlap: Overlap): string[] {
  const { capture, offset, totals, series, differences, ownHoles, serviceHoles } = overlap
  const { compared, best, depth, inFlight, before, inGap, unknown } = totals
  return [
    `${capture.lines} lines, ${totals.rows} books of ${series.length} instruments; ${capture.other} other lines, ${capture.unreadable} unreadable`,
    offset === undefined
      ? 'offset     unknown: no book was found on both sides'
      : `offset     the service is ${spanText(offset.median)} behind (${spanText(offset.low)} to ${spanText(offset.high)}, ${offset.matches} books)`,
    `best       ${best} of ${compared} equal`,
    `depth      ${depth} of ${compared} equal, ${inFlight} of them within the tolerance`,
    `left out   ${before} before the first row, ${inGap} in declared gaps, ${unknown} without a whole book`,
    ...overlap.unrecorded.slice(0, SHOWN).map((name) => `unrecorded ${name}`),
    ...ownHoles.slice(0, SHOWN).map((hole) => `your hole  ${holeText(hole)}`),
    ...serviceHoles.slice(0, SHOWN).map((hole) => `its hole   ${holeText(hole)}`),
    ...differences
      .slice(0, SHOWN)
      .map(
        ({ time, line, what, own, service, row }) =>
          `differs    ${printMicros(time as Micros)} line ${line} ${what}: ${own}, the service has ${service} (${row})`,
      ),
  ]
}

function holeText({ series, start, end, others, declared }: Hole): string {
  const why = declared === undefined ? '' : `, declared ${declared}`
  const times = `${printMicros(start as Micros)} to ${printMicros(end as Micros)}`
  return `${series} ${times}: ${others} books on the other side${why}`
}

function spanText(micros: number): string {
  const text = printSpan(Math.abs(micros) / 1000)
  return micros <= -500 ? `-${text}` : text
}

function toJson(overlap: Overlap, reasons: readonly string[]): object {
  const { capture, offset, tolerance, totals, series, unrecorded } = overlap
  const hole = ({ series: name, start, end, others, declared }: Hole): object => ({
    series: name,
    start_time: printMicros(start as Micros),
    end_time: printMicros(end as Micros),
    others,
    ...(declared === undefined ? {} : { declared }),
  })
  return {
    agrees: reasons.length === 0,
    reasons,
    lines: capture.lines,
    other_lines: capture.other,
    unreadable_lines: capture.unreadable,
    venue_timed: capture.venueTimed,
    offset:
      offset === undefined
        ? null
        : {
            median_ms: offset.median / 1000,
            low_ms: offset.low / 1000,
            high_ms: offset.high / 1000,
            matches: offset.matches,
          },
    tolerance_ms: tolerance / 1000,
    ...countsJson(totals),
    series: series.map(({ venue, marketId, key, counts }) => ({
      venue,
      market_id: marketId,
      key,
      ...countsJson(counts),
    })),
    unrecorded,
    own_holes: overlap.ownHoles.map(hole),
    service_holes: overlap.serviceHoles.map(hole),
    differences: overlap.differences.map(({ time, ...rest }) => ({
      time: printMicros(time as Micros),
      ...rest,
    })),
  }
}

function countsJson(counts: Overlap['totals']): object {
  const { inFlight, inGap, before, ...rest } = counts
  return { ...rest, in_flight: inFlight, in_gap: inGap, before_first_row: before }
}
