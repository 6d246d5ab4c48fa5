import { OrderBook, type FullBookRowJson } from '../../client/index.ts'
import { countOf, parseMarket, takeAtMost, textOf, timeOf } from '../args.ts'
import type { Command } from '../command.ts'
import { CliError } from '../exit-codes.ts'
import { bookLine, layLadder } from '../ladder-view.ts'
import { printJson, printLines, shortTime, tellNotices } from '../words.ts'

/** `book`: the newest recorded book, or one out of the past. */
export const BOOK: Command = {
  name: 'book',
  args: 'MARKET',
  about: 'Show the newest recorded book of a market, or the one at a time.',
  more: 'Inside a gap there is no book: the reason is printed and the exit status is 7.',
  options: {
    at: { type: 'string', value: 'TIME', about: 'The book at this time instead of the newest.' },
    depth: { type: 'string', short: 'd', value: 'N', about: 'Levels per side, 10 by default.' },
    outcome: { type: 'string', value: 'LABEL', about: 'Only this outcome (venue C).' },
  },
  examples: [
    'priorbook book venueb:KXBTC15M-26AUG111515-15',
    'priorbook book venueb:KXBTC15M-26AUG111515-15 --at 2026-08-11T15:02:00Z --depth 5',
    'priorbook book venuec:0x5f… --outcome Up --json',
  ],
  async run(context) {
    const { args, options, io, isJson, signal } = context
    takeAtMost(args, 1, 'book')
    const market = context.client().market(parseMarket(args[0]))
    const depth = countOf(options, 'depth', 10_000) ?? 10
    const outcome = textOf(options, 'outcome')
    const at = timeOf(options, 'at')
    const params = {
      number_format: 'string',
      ...(outcome === undefined ? {} : { outcome }),
    } as const
    // JSON gets the requested levels; the picture also counts those that it does not show.
    const cut = isJson ? { ...params, depth } : params
    const answer = await (at === undefined
      ? market.latest(cut, { signal })
      : market.asOf({ ...cut, at }, { signal }))
    tellNotices(context, answer.notices)
    if (answer.data.length === 0) {
      const why = answer.notices[0]?.message ?? 'nothing was recorded'
      throw new CliError('empty', `there is no book: ${why}`)
    }
    for (const row of answer.data) {
      if (isJson) {
        await printJson(context, row)
        continue
      }
      const { columns } = io.size()
      const book = OrderBook.from(row)
      const style = {
        depth,
        width: columns,
        paint: (style: never, text: string) => io.paint(style, text),
      }
      await printLines(context, [...headOf(row), bookLine(book), ...layLadder(book, style), ''])
    }
  },
}

function headOf(row: FullBookRowJson): string[] {
  const { venue, market_id, outcome, sequence, received_time, flags } = row
  const named = outcome === null ? '' : ` ${outcome}`
  const marks = flags.length === 0 ? '' : `   ${flags.join(' ')}`
  return [
    `${venue}:${market_id}${named}`,
    `received ${shortTime(received_time)} UTC   sequence ${sequence}${marks}`,
  ]
}
