import { contractOf, membersOf, CONTRACT_SCHEMA } from '@priorbook/sdk/wire'
import { findContract } from '../contracts/find.ts'
import { presentOf } from '../contracts/known-store.ts'
import { walkContracts } from '../contracts/list.ts'
import { toContractJson, toContractWithTermsJson } from '../contracts/to-json.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { PlanFilter, requireAssetAnywhere } from '../markets/plan-filter.ts'
import { answerList } from '../pages/answer-rows.ts'
import { noticeMeta, presentNotices, searchNotice, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, styleOf, tableStyle } from '../pages/page.ts'
import { defineRoute, type Route } from '../route.ts'

/** What is being bet on, over all venues. */
export const CONTRACTS_ROUTE: Route = defineRoute(
  contractOf('contracts'),
  async (request, context) => {
    const { query, grant } = request
    const { q, kind, status, window, members = 2 } = query
    const asset = query.asset?.toUpperCase()
    if (asset !== undefined) requireAssetAnywhere(grant, undefined, asset)
    const style = tableStyle(request)
    const filters = { text: q, kind, status, asset, window, members }
    const page = openPage(request, context, filters, NO_END)
    const plan = new PlanFilter(grant)
    const walked = await walkContracts(context, filters, page, plan)
    const now = context.now()
    const rows = walked.contracts.map((contract) => toContractJson(contract, now, style))
    return answerList(request, {
      type: 'contract',
      rows,
      columns: membersOf(CONTRACT_SCHEMA),
      schema: CONTRACT_SCHEMA,
      meta: { range: rangeMeta(page.range, style) },
      notices: presentNotices(
        windowNotice(page.range),
        plan.notice === undefined || walked.hasMore
          ? searchNotice('contract', rows.length, walked.hasMore)
          : undefined,
        plan.notice,
      ),
      page,
      next: walked.next,
    })
  },
)

/** One contract with its members, terms and differences. */
export const CONTRACT_ROUTE: Route = defineRoute(
  contractOf('contract'),
  async (request, context) => {
    const { query, grant, path } = request
    const contract = await findContract(context, grant, path.contract_id, query.known_at)
    const data = toContractWithTermsJson(contract, presentOf(context, query), styleOf(query))
    const notices = [withheldNotice(contract), forgottenNotice(contract)]
    return { kind: 'data', data, count: 1, meta: noticeMeta(...notices) }
  },
)
