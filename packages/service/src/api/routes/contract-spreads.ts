import { NET_DECIMALS, SHARE_DECIMALS } from '@priorbook/sdk/backtest'
import { DAY_MICROS, parseScaled, printScaled, PriorbookError, VENUES } from '@priorbook/sdk/domain'
import {
  contractOf,
  decimalJson,
  membersOf,
  Problem,
  SPREAD_SCHEMA,
  timeJson,
  type SpreadJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { findContract } from '../contracts/find.ts'
import { asKnown, presentOf } from '../contracts/known-store.ts'
import { notOpenYet, openRange } from '../contracts/range.ts'
import {
  findSpreads,
  type Episode,
  type EpisodeRows,
  type FollowedMember,
} from '../contracts/spreads.ts'
import { windowOf } from '../contracts/to-json.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { answerList } from '../pages/answer-rows.ts'
import { presentNotices, windowNotice } from '../pages/notices.ts'
import { rangeMeta, tableStyle, type Page } from '../pages/page.ts'
import { defineRoute, type CursorState, type Notice, type Route } from '../route.ts'

const MAX_DAYS = 7

/** Where the venues disagreed by more than the fees. */
export const CONTRACT_SPREADS_ROUTE: Route = defineRoute(
  contractOf('contract_spreads'),
  async (request, context) => {
    const { query, grant, signal } = request
    const style = tableStyle(request)
    const minEdge = readEdge(query.min_edge)
    const contract = await findContract(context, grant, request.path.contract_id, query.known_at)
    const known = asKnown(context, query.known_at)
    const page = openRange(request, context, contract, { min_edge: minEdge })
    const early = notOpenYet(request, context, contract)
    const { closes = Infinity } = windowOf(contract)
    // What is shown after the close cannot be traded.
    const end =
      early === undefined ? Math.min(page.end, closes, presentOf(context, query)) : page.from
    const start = page.from === 0 ? end - DAY_MICROS : page.from
    requireShort(start, end)
    const found = new SpreadPage(page)
    const members =
      end <= start
        ? []
        : await findSpreads(known, contract.members, {
            start,
            end,
            minEdge,
            window: page.range.window,
            signal,
            onEpisode: (episode, earliestOpen) => found.add(episode, earliestOpen),
          })
    const { episodes, next } = found.finish()
    return answerList(request, {
      type: 'spread',
      rows: episodes.map((episode) => toSpreadJson(episode, members, style)),
      columns: membersOf(SPREAD_SCHEMA),
      schema: SPREAD_SCHEMA,
      meta: { range: rangeMeta({ ...page.range, from: start, end }, style) },
      notices: presentNotices(
        early ?? (page.isFirst && episodes.length === 0 ? NONE : undefined),
        windowNotice(page.range),
        withheldNotice(contract),
        forgottenNotice(contract),
      ),
      page,
      next,
    })
  },
)

const NONE: Notice = {
  code: 'no_spreads',
  message: 'The venues did not disagree by more than the fees in the range.',
}

// Spans that ended beyond a full page before it is checked whether the page is final.
const SLACK = 256

/** Collects the spans of one page, by their start and the places of their members. */
class SpreadPage {
  readonly #page: Page
  readonly #after: readonly number[] | undefined
  #found: Episode[] = []

  constructor(page: Page) {
    this.#page = page
    const { start, yes, no } = page.state
    this.#after = start === undefined ? undefined : [Number(start), Number(yes), Number(no)]
  }

  /** Adds a span; true where no later one can belong to the page. */
  add(episode: Episode, earliestOpen: number): boolean {
    if (this.#after !== undefined && compare(placeOf(episode), this.#after) <= 0) return false
    this.#found.push(episode)
    const { limit } = this.#page
    if (this.#found.length < limit + SLACK) return false
    this.#found = this.#sorted()
    return this.#found[limit]!.start < earliestOpen
  }

  finish(): { readonly episodes: readonly Episode[]; readonly next: CursorState | undefined } {
    const all = this.#sorted()
    const episodes = all.slice(0, this.#page.limit)
    const last = episodes.at(-1)
    if (last === undefined || all.length <= episodes.length) return { episodes, next: undefined }
    return { episodes, next: { start: last.start, yes: last.yes, no: last.no } }
  }

  // Only those that can be on the page are kept, and one more, which shows that there is a next one.
  #sorted(): Episode[] {
    const all = this.#found.toSorted((a, b) => compare(placeOf(a), placeOf(b)))
    return all.slice(0, this.#page.limit + 1)
  }
}

function placeOf({ start, yes, no }: Episode): readonly number[] {
  return [start, yes, no]
}

function compare(a: readonly number[], b: readonly number[]): number {
  return a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!
}

function readEdge(text: string | undefined): number {
  if (text === undefined) return 0
  try {
    const edge = parseScaled(text, NET_DECIMALS)
    if (edge >= 0 && edge <= 10 ** NET_DECIMALS) return edge
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
  }
  throw new Problem('invalid_parameter', `min_edge is ${JSON.stringify(text)}, not an edge`, {
    param: 'min_edge',
    hint: 'A decimal from 0 to 1, such as 0.01.',
  })
}

function requireShort(start: number, end: number): void {
  if (end - start <= MAX_DAYS * DAY_MICROS) return
  throw new Problem('invalid_range', `the range is longer than ${MAX_DAYS} days`, {
    param: 'start_time',
    hint: `Ask for at most ${MAX_DAYS} days at a time.`,
  })
}

function toSpreadJson(
  episode: Episode,
  members: readonly FollowedMember[],
  style: ValueStyle,
): SpreadJson {
  const { start, end, endedBy, best, startRows, endRows } = episode
  const [yes, no] = [members[episode.yes]!, members[episode.no]!]
  const net = (units: number) => decimalJson(printScaled(units, NET_DECIMALS), style)!
  const rows = (of: EpisodeRows) => ({ yes: rowId(yes, of.yes), no: rowId(no, of.no) })
  const leg = (one: FollowedMember, isYes: boolean, price: number, units: number) => {
    const { venue, marketId, outcomes } = one.member.state.record
    const { yesIndex } = one.member
    const outcome = outcomes.find(({ index }) => (index === yesIndex) === isYes)
    return {
      venue,
      market_id: marketId,
      outcome: outcome?.label ?? null,
      price: decimalJson(printScaled(price, VENUES[venue].priceDecimals), style)!,
      net_price: net(units),
    }
  }
  return {
    yes: leg(yes, true, best.yesPrice, best.yesNet),
    no: leg(no, false, best.noPrice, best.noNet),
    start_time: timeJson(start, style)!,
    end_time: timeJson(end, style)!,
    duration_ms: decimalJson(printScaled(end - start, 3), style)!,
    ended_by: endedBy,
    best_edge: net(best.edge),
    best_time: timeJson(best.at, style)!,
    fillable_size: decimalJson(printScaled(best.size, SHARE_DECIMALS), style)!,
    rows: {
      start: rows(startRows),
      best: rows(best.rows),
      end: endRows === undefined ? null : rows(endRows),
    },
  }
}

function rowId({ instrument }: FollowedMember, sequence: number): string {
  return `${instrument!.venue}:${instrument!.key}:${sequence}`
}
