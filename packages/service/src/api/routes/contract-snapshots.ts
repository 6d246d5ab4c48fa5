import { CONTRACT_SNAPSHOT_SCHEMA, contractOf, INTERVALS, membersOf } from '@priorbook/sdk/wire'
import { toGapJson } from '@priorbook/sdk/wire'
import { readAligned, toFlatRow } from '../contracts/aligned.ts'
import { findContract, type ContractMember } from '../contracts/find.ts'
import { asKnown, presentOf } from '../contracts/known-store.ts'
import { memberInstruments } from '../contracts/member-book.ts'
import { notOpenYet, openRange } from '../contracts/range.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { answerList } from '../pages/answer-rows.ts'
import { presentNotices, windowNotice } from '../pages/notices.ts'
import { rangeMeta, tableStyle } from '../pages/page.ts'
import { defineRoute, type ApiContext, type Route } from '../route.ts'

/** The best prices of all members of a contract, aligned in time. */
export const CONTRACT_SNAPSHOTS_ROUTE: Route = defineRoute(
  contractOf('contract_snapshots'),
  async (request, context) => {
    const { query, grant, format } = request
    const { interval = '1m' } = query
    const style = tableStyle(request)
    const contract = await findContract(context, grant, request.path.contract_id, query.known_at)
    const known = asKnown(context, query.known_at)
    const page = openRange(request, context, contract, { interval })
    const early = notOpenYet(request, context, contract)
    const { rows, gaps, next } = await readAligned(
      known,
      contract.members,
      {
        start: Number(page.state['at'] ?? (await beginOf(known, contract.members, page.from))),
        end: early === undefined ? Math.min(page.end, presentOf(context, query)) : 0,
        interval: INTERVALS[interval],
        limit: page.limit,
        window: page.range.window,
      },
      style,
    )
    const flat = format === 'csv' ? rows.map(toFlatRow) : rows
    const columns = format === 'csv' ? Object.keys(flat[0] ?? {}) : COLUMNS
    return answerList<Readonly<Record<string, unknown>>>(request, {
      type: 'snapshot',
      rows: flat,
      columns,
      schema: CONTRACT_SNAPSHOT_SCHEMA,
      meta: {
        range: rangeMeta(page.range, style),
        member_gaps: gaps.map((gap) => toGapJson(gap, style)),
      },
      notices: presentNotices(
        early,
        windowNotice(page.range),
        withheldNotice(contract),
        forgottenNotice(contract),
      ),
      page,
      next: next === undefined ? undefined : { at: next },
    })
  },
)

const COLUMNS = membersOf(CONTRACT_SNAPSHOT_SCHEMA)

// Without a begin it is the first book of a member; where there is none, the time itself, which nothing follows.
async function beginOf(
  context: ApiContext,
  members: readonly ContractMember[],
  from: number,
): Promise<number> {
  if (from > 0) return from
  const firsts: number[] = []
  for (const { instrument } of await memberInstruments(context, members)) {
    const facts = instrument === undefined ? undefined : await context.store.instrument(instrument)
    if (facts !== undefined) firsts.push(facts.firstReceived)
  }
  return firsts.length === 0 ? context.now() : Math.min(...firsts)
}
