import { flagOption, printLines, timeOption } from '../../command-line/index.ts'
import {
  fromMillis,
  parseMicros,
  printMicros,
  printScaled,
  toMicros,
  type Micros,
} from '../../domain/index.ts'
import {
  ROUTES,
  type ConsolidatedJson,
  type ContractWithTermsJson,
  type LeadLagJson,
} from '../../wire/index.ts'
import { defineCommand, printJson, printNotices, printTable, shortTime, shown } from '../command.ts'
import { findContractId } from '../find-contract.ts'
import { routeOption } from '../options.ts'

const { query: PARAMS } = ROUTES.contract_consolidated

/** `compare`: the members of a contract side by side. */
export const COMPARE = defineCommand({
  name: 'compare',
  args: 'CONTRACT',
  mostArgs: 1,
  about:
    'Compare the markets of several venues that are about the same: prices after fees, differences, edge.',
  more: 'CONTRACT is ASSET-WINDOW for the round that is open, such as BTC-15m, or the id of a contract.',
  options: {
    at: timeOption('The books at this time instead of now.'),
    size: routeOption(PARAMS.size, 'The best way to trade this many shares.', { value: 'N' }),
    lead: flagOption('Which venue moved first since the window began, or in the last hour.'),
    side: routeOption(PARAMS.side, 'What to do with --size; buy by default.', { value: 'SIDE' }),
  },
  examples: [
    'priorbook compare BTC-15m',
    'priorbook compare BTC-15m --at 2026-11-17T17:31:00Z',
    'priorbook compare BTC-15m --lead',
    'priorbook compare btc-15m-up-down-20261117T174500Z --size 100 --side sell',
  ],
  async run(context) {
    const { args, options, io, isJson, signal } = context
    const at = printMicros(options.at === undefined ? fromMillis(Date.now()) : readAt(options.at))
    const id = await findContractId(context, args[0], options.at === undefined ? undefined : at)
    const client = context.client()
    const style = { number_format: 'string' } as const
    const contract = await client.contract(id, style, { signal })
    const { size, side = 'buy' } = options
    const order = size === undefined ? {} : { size, side }
    const params = { at, ...style, ...order }
    const consolidated = await client.contractConsolidated(id, params, { signal })
    const lead = options.lead
      ? await client.contractLeadLag(id, leadRange(contract.data, at), { signal })
      : undefined
    const notices = [contract, consolidated, lead].flatMap((answer) => answer?.notices ?? [])
    printNotices(context, notices)
    if (isJson) {
      await printJson(context, {
        ...contract.data,
        ...consolidated.data,
        ...(lead && { lead: lead.data }),
      })
      return
    }
    await printLines(io, headLines(contract.data, at))
    await printTable(io, COLUMNS, consolidated.data.members.map(memberCells))
    await printLines(io, [
      ...pairLines(consolidated.data),
      ...orderLines(consolidated.data),
      ...(lead === undefined ? [] : leadLines(lead.data)),
      ...differenceLines(contract.data),
    ])
  },
})

// Options of time are printed, or milliseconds or microseconds.
function readAt(text: string): Micros {
  if (/^\d{16}$/.test(text)) return toMicros(Number(text))
  return /^\d{13}$/.test(text) ? fromMillis(Number(text)) : parseMicros(text)
}

function headLines(contract: ContractWithTermsJson, at: string): string[] {
  const { id, title, status, closes, withheld } = contract
  return [
    `${id}  ${shown(title)}`,
    `${status}, closes ${shortTime(closes)}, books at ${shortTime(at)} UTC`,
    ...(withheld.length === 0 ? [] : [`not in the plan: ${withheld.join(', ')}`]),
  ]
}

const COLUMNS = [
  { head: 'VENUE' },
  { head: 'YES IS' },
  { head: 'BID', right: true },
  { head: 'ASK', right: true },
  { head: 'NET BID', right: true },
  { head: 'NET ASK', right: true },
  { head: 'AGE', right: true },
  { head: 'MISSING' },
  { head: 'MARKET', shrinks: true },
] as const

function memberCells(member: ConsolidatedJson['members'][number]): string[] {
  const { venue, outcome, age_ms: age, reason, market_id: id } = member
  return [
    venue,
    shown(outcome),
    shown(member.best_bid),
    shown(member.best_ask),
    shortPrice(member.net_bid),
    shortPrice(member.net_ask),
    age === null ? '–' : `${Math.round(Number(age))} ms`,
    shown(reason?.code),
    id,
  ]
}

// Six decimals are enough to read; --json has all of them.
function shortPrice(price: string | number | null): string {
  return price === null ? '–' : printScaled(Math.round(Number(price) * 1e6), 6)
}

function pairLines({ pair, members }: ConsolidatedJson): string[] {
  if (pair === null) return ['no pair: fewer than two members have a book']
  const [yes, no] = [members[pair.yes]!, members[pair.no]!]
  const cost = `Yes at ${yes.venue} ${shortPrice(yes.net_ask)} and No at ${no.venue} ${shortPrice(no.net_no_ask)}`
  const edge = shortPrice(pair.edge)
  return [
    Number(pair.edge) > 0
      ? `edge: ${cost} leave ${edge} per share`
      : `no edge: ${cost} cost ${edge.replace('-', '')} more than they pay`,
  ]
}

function orderLines({ order }: ConsolidatedJson): string[] {
  if (order === null) return []
  const { side, size, filled_size: filled, net_amount: amount, fee, average_price: average } = order
  const head = `${side} ${size}: ${filled} for ${amount} with fees of ${fee}, ${shown(average)} each`
  const parts = order.parts.map(
    ({ venue, size: own, limit_price: limit, net_amount: paid }) =>
      `  ${venue}: ${own} up to ${limit}, ${paid}`,
  )
  return [head, ...parts]
}

const HOUR_MICROS = 3_600_000_000

// Up to the time of the books, and not longer than an hour.
function leadRange({ opens }: ContractWithTermsJson, at: string) {
  const end = parseMicros(at)
  const since = end - HOUR_MICROS
  const start = opens === null ? since : Math.max(since, parseMicros(String(opens)))
  const range = { start_time: String(Math.min(start, end - 1)), end_time: String(end) }
  return { ...range, number_format: 'string' } as const
}

function leadLines({ members, pairs }: LeadLagJson): string[] {
  return pairs.map((pair) => {
    const [first, second] = [members[pair.first]!.venue, members[pair.second]!.venue]
    const moves = `${pair.first_moves} and ${pair.second_moves} moves`
    const clock = pair.clock === 'received' ? 'received clock' : 'clocks of the venues'
    const by = `by the ${clock}, ${moves}`
    if (pair.verdict === 'not_decided') {
      return `lead: ${first} or ${second} is not decided (${shown(pair.reason)}) ${by}`
    }
    const [one, other] = pair.verdict === 'first' ? [first, second] : [second, first]
    const delay = String(pair.delay_ms).replace('-', '')
    return `lead: ${one} moves ${delay} ± ${shown(pair.uncertainty_ms)} ms before ${other} ${by}`
  })
}

function differenceLines({ comparison, differences }: ContractWithTermsJson): string[] {
  if (comparison === 'single') return ['one member: there is nothing to compare with']
  if (comparison === 'identical') return ['identical in every term']
  return [
    'equivalent except:',
    ...differences.flatMap(({ term, values, meaning }) => [
      `  ${term}: ${values.map(({ venue, value }) => `${venue} ${value ?? 'not known'}`).join('; ')}`,
      `    ${meaning}`,
    ]),
  ]
}
