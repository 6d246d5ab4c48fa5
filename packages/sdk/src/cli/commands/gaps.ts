import { GAP_REASONS, VENUE_IDS, type GapReason, type VenueId } from '../../domain/index.ts'
import type { GapJson } from '../../wire/index.ts'
import { countOf, parseMarket, present, takeAtMost, textOf, timeOf } from '../args.ts'
import { RANGE_OPTIONS, type Command } from '../command.ts'
import { layTable } from '../table.ts'
import { printJson, printLines, printSpan, shortTime, tellNotices } from '../words.ts'

/** `gaps`: what was not observed. */
export const GAPS: Command = {
  name: 'gaps',
  args: '[MARKET]',
  about: 'List what was not observed, and why.',
  options: {
    venue: { type: 'string', value: 'VENUE', words: VENUE_IDS, about: 'Only this venue.' },
    reason: {
      type: 'string',
      value: 'REASON',
      words: Object.keys(GAP_REASONS),
      about: 'Only this reason.',
    },
    limit: { type: 'string', short: 'n', value: 'N', about: 'Max gaps to list, 100 by default.' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook gaps venueb:KXBTC15M-26AUG111515-15',
    'priorbook gaps --venue venuec --start 24h',
    'priorbook gaps --reason disconnected --json',
  ],
  async run(context) {
    const { args, options, io, isJson, signal } = context
    takeAtMost(args, 1, 'gaps')
    const most = countOf(options, 'limit', 1_000_000) ?? 100
    const market = args[0] === undefined ? undefined : parseMarket(args[0])
    const params = present({
      venue: market?.venue ?? (textOf(options, 'venue') as VenueId | undefined),
      market: market?.market_id,
      reason: textOf(options, 'reason') as GapReason | undefined,
      start_time: timeOf(options, 'start'),
      end_time: timeOf(options, 'end'),
      limit: Math.min(most, 1000),
    })
    const gaps: GapJson[] = []
    const told = new Set<string>()
    let count = 0
    for await (const page of context.client().gaps(params, { signal }).pages()) {
      tellNotices(context, page.notices, told)
      for (const gap of page.data.slice(0, most - count)) {
        count++
        if (isJson) await printJson(context, gap)
        else gaps.push(gap)
      }
      if (count >= most) break
    }
    if (isJson) return
    if (gaps.length === 0) {
      // Nothing missing is good news, not a failure.
      await printLines(context, ['no gaps'])
      return
    }
    const lines = layTable(COLUMNS, gaps.map(cellsOf), io.isTty ? io.size().columns : Infinity)
    await printLines(context, [io.paint('dim', lines[0]!), ...lines.slice(1)])
  },
}

const COLUMNS = [
  { head: 'START (UTC)' },
  { head: 'LASTED', right: true },
  { head: 'REASON' },
  { head: 'WHAT', shrinks: true },
  { head: 'AFTER SEQ', right: true },
] as const

function cellsOf(gap: GapJson): string[] {
  const { venue, key, scope, start_time: start, end_time: end } = gap
  const lasted =
    end === null ? 'open' : printSpan(Date.parse(String(end)) - Date.parse(String(start)))
  const what = key === null ? venue : `${venue}:${key}`
  return [shortTime(start), lasted, gap.reason, `${what} (${scope})`, String(gap.after_sequence)]
}
