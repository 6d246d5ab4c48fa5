import { DAY_MICROS, printScaled } from '@priorbook/sdk/domain'
import {
  contractOf,
  decimalJson,
  Problem,
  timeJson,
  type LeadLagJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { Yielder } from '../../lib/yielder.ts'
import { findContract } from '../contracts/find.ts'
import { asKnown, presentOf } from '../contracts/known-store.ts'
import { findLeadLag, type LagGrid, type LeadLag } from '../contracts/lead-lag.ts'
import { memberInstruments, type MemberInstrument } from '../contracts/member-book.ts'
import {
  MOVE_CLOCKS,
  MOVE_DECIMALS,
  readMoves,
  type MemberMoves,
  type Move,
  type MoveClock,
} from '../contracts/moves.ts'
import { notOpenYet, openRange } from '../contracts/range.ts'
import { windowOf } from '../contracts/to-json.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { noticeMeta, windowNotice } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type Route } from '../route.ts'

const MAX_LAG_MS = 5000
const STEP_MS = 50
const MAX_STEPS = 2000
// Bounds of one answer: the longest range, and moves of one member in it.
const MAX_RANGE = DAY_MICROS
const MAX_MOVES = 50_000

/** Which member of a contract moves first. */
export const CONTRACT_LEADLAG_ROUTE: Route = defineRoute(
  contractOf('contract_leadlag'),
  async (request, context) => {
    const { query, grant, signal } = request
    const style = styleOf(query)
    const { max_lag_ms: maxLag = MAX_LAG_MS, step_ms: step = STEP_MS } = query
    const grid = readGrid(maxLag, step)
    const contract = await findContract(context, grant, request.path.contract_id, query.known_at)
    const known = asKnown(context, query.known_at)
    const { from, end: asked, range } = openRange(request, context, contract, {})
    const early = notOpenYet(request, context, contract)
    const { closes = Infinity } = windowOf(contract)
    const end = early === undefined ? Math.min(asked, closes, presentOf(context, query)) : from
    const start = from === 0 ? end - MAX_RANGE : from
    if (end - start > MAX_RANGE) throw tooMuch('the range is longer than a day')
    const chosen = await memberInstruments(known, contract.members)
    const read: MemberMoves[] = []
    for (const one of chosen) {
      const { window } = range
      const onTooMany = (): never => {
        throw tooMuch(`a member moved more than ${MAX_MOVES} times`)
      }
      read.push(
        await readMoves(known, one, { start, end, window, signal, most: MAX_MOVES, onTooMany }),
      )
    }
    const yielder = new Yielder()
    const pairs: LeadLagJson['pairs'][number][] = []
    for (const [first, second] of pairsOf(chosen.length)) {
      for (const clock of MOVE_CLOCKS) {
        const found = await findLeadLag(read[first]!.moves, read[second]!.moves, {
          clock,
          grid,
          start,
          end,
          pause: async () => {
            signal.throwIfAborted()
            await yielder.yieldIfDue()
          },
          onOverflow: () => {
            throw tooMuch('the moves are too many and too large for exact sums')
          },
        })
        const members = [chosen[first]!, chosen[second]!] as const
        const json = toPairJson(members, clock, found, style)
        const curve = query.include_curve === true ? toCurveJson(found, grid, style) : null
        pairs.push({ first, second, ...json, curve })
      }
    }
    const data: LeadLagJson = {
      contract_id: contract.id,
      start_time: timeJson(start, style)!,
      end_time: timeJson(end, style)!,
      max_lag_ms: maxLag,
      step_ms: step,
      members: chosen.map((one, place) => toMemberJson(one, read[place]!)),
      pairs,
    }
    const hidden = [withheldNotice(contract), forgottenNotice(contract)]
    return {
      kind: 'data',
      data,
      count: pairs.length,
      meta: noticeMeta(early, windowNotice(range), ...hidden),
    }
  },
)

function readGrid(maxLag: number, step: number): LagGrid {
  const steps = Math.floor(maxLag / step)
  if (steps < 2 || steps > MAX_STEPS) {
    throw new Problem('invalid_parameter', `step_ms is ${step} for a max_lag_ms of ${maxLag}`, {
      param: 'step_ms',
      hint: `max_lag_ms is 2 to ${MAX_STEPS} steps.`,
    })
  }
  return { stepMicros: step * 1000, steps }
}

function tooMuch(detail: string): Problem {
  return new Problem('invalid_range', detail, {
    param: 'start_time',
    hint: `Ask for a shorter range: at most a day with at most ${MAX_MOVES} moves of each member.`,
  })
}

function pairsOf(count: number): (readonly [number, number])[] {
  const places = Array.from({ length: count }, (_, place) => place)
  return places.flatMap((first) =>
    places.slice(first + 1).map((second) => [first, second] as const),
  )
}

function toMemberJson(
  { member }: MemberInstrument,
  { moves, rows }: MemberMoves,
): LeadLagJson['members'][number] {
  const { venue, marketId, outcomes } = member.state.record
  return {
    venue,
    market_id: marketId,
    outcome: outcomes.find(({ index }) => index === member.yesIndex)?.label ?? null,
    rows,
    moves: moves.length,
  }
}

type PairJson = Omit<LeadLagJson['pairs'][number], 'first' | 'second' | 'curve'>

function toPairJson(
  [first, second]: readonly [MemberInstrument, MemberInstrument],
  clock: MoveClock,
  { peak, verdict, reason, firstMoves, secondMoves }: LeadLag,
  style: ValueStyle,
): PairJson {
  const ms = (micros: number | undefined) =>
    micros === undefined ? null : decimalJson(printScaled(micros, 3), style)
  const move = ({ instrument }: MemberInstrument, one: Move) => ({
    row_id: `${instrument!.venue}:${instrument!.key}:${one.sequence}`,
    time: timeJson(one[clock]!.at, style)!,
    // Half of the change of both prices together.
    change: decimalJson(printScaled(one.size * 5, MOVE_DECIMALS + 1), style)!,
  })
  return {
    clock,
    verdict,
    reason: reason ?? null,
    delay_ms: ms(peak?.delayMicros),
    low_ms: ms(peak?.lowMicros),
    high_ms: ms(peak?.highMicros),
    uncertainty_ms: ms(
      peak && Math.max(peak.delayMicros - peak.lowMicros, peak.highMicros - peak.delayMicros),
    ),
    correlation: peak === undefined ? null : decimalJson(printScaled(peak.correlation, 6), style),
    first_moves: firstMoves,
    second_moves: secondMoves,
    paired_moves: peak?.pairCount ?? 0,
    evidence: (peak?.pairs ?? []).map((pair) => ({
      first: move(first, pair.first),
      second: move(second, pair.second),
    })),
  }
}

function toCurveJson(
  { curve }: LeadLag,
  { stepMicros, steps }: LagGrid,
  style: ValueStyle,
): LeadLagJson['pairs'][number]['curve'] {
  return {
    lag_ms: curve.map((_, place) =>
      decimalJson(printScaled((place - steps) * stepMicros, 3), style)!,
    ),
    correlation: curve.map((millionths) => decimalJson(printScaled(millionths, 6), style)!),
  }
}
