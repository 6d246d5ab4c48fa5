import { OrderBook, type FullBookRowJson } from '../../client/index.ts'
import { printLines, timeOption, toPlain, UsageError } from '../../command-line/index.ts'
import { VENUES } from '../../domain/index.ts'
import { MARKET_ROUTES } from '../../wire/index.ts'
import { defineCommand, printJson, printNotices, shortTime } from '../command.ts'
import { CliError } from '../errors.ts'
import { bookLine, layLadder } from '../ladder-view.ts'
import { parseMarket, present, routeOption } from '../options.ts'

const { query: PARAMS } = MARKET_ROUTES.orderbook

/** `book`: the newest recorded book, or one out of the past. */
export const BOOK = defineCommand({
  name: 'book',
  args: 'MARKET',
  mostArgs: 1,
  about: 'Show the newest recorded book of a market, or the one at a time.',
  more: 'Inside a gap there is no book: the reason is printed and the exit status is 7.',
  options: {
    at: timeOption('The book at this time instead of the newest.'),
    depth: routeOption(PARAMS.depth, 'Levels per side, 10 by default.', { value: 'N', short: 'd' }),
    outcome: routeOption(PARAMS.outcome, 'Only this outcome (venue C).', { value: 'LABEL' }),
  },
  examples: [
    'priorbook book venueb:KXBTC15M-26AUG111515-15',
    'priorbook book venueb:KXBTC15M-26AUG111515-15 --at 2026-08-11T15:02:00Z --depth 5',
    'priorbook book venuec:0x5f… --outcome Up --json',
  ],
  async run(context) {
    const { args, options, io, isJson, signal } = context
    const name = parseMarket(args[0])
    const { depth = 10, outcome, at } = options
    if (outcome !== undefined && VENUES[name.venue].booksPer === 'market') {
      const hint =
        'Leave out --outcome: a bid for the second outcome at p is an ask for the first at 1 − p.'
      throw new UsageError(`markets of ${name.venue} have one book for both outcomes`, hint)
    }
    const market = context.client().market(name)
    const params = { number_format: 'string', ...present({ outcome }) } as const
    // JSON gets the requested levels; the picture also counts those that it does not show.
    const cut = isJson ? { ...params, depth } : params
    const answer = await (at === undefined
      ? market.latest(cut, { signal })
      : market.asOf({ ...cut, at }, { signal }))
    printNotices(context, answer.notices)
    if (answer.data.length === 0) {
      const why = answer.notices[0]?.message ?? 'nothing was recorded'
      throw new CliError('empty', `there is no book: ${why}`)
    }
    for (const row of answer.data) {
      if (isJson) {
        await printJson(context, row)
        continue
      }
      const book = OrderBook.from(row)
      const style = { depth, width: io.size().columns, paint: io.paint }
      await printLines(io, [...headOf(row), bookLine(book), ...layLadder(book, style), ''])
    }
  },
})

function headOf(row: FullBookRowJson): string[] {
  const { venue, market_id, outcome, sequence, received_time, flags } = row
  const named = outcome === null ? '' : ` ${outcome}`
  const marks = flags.length === 0 ? '' : `   ${flags.join(' ')}`
  return [
    toPlain(`${venue}:${market_id}${named}`),
    `received ${shortTime(received_time)} UTC   sequence ${sequence}${marks}`,
  ]
}
