import { parseReferenceKey } from '@priorbook/sdk/domain'
import { contractOf } from '@priorbook/sdk/wire'
import { findReferences } from '../markets/references.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type Route } from '../route.ts'
import { answerAudit, parseTarget, unknownRow } from './audit.ts'

/** A reference price beside the raw message that it was derived from. */
export const REFERENCE_AUDIT_ROUTE: Route = defineRoute(
  contractOf('reference_audit'),
  async (request, context) => {
    const { grant, query } = request
    grant.requireFeature('audit')
    const { series } = await findReferences(context, grant, request.path.asset, undefined)
    const target = parseTarget(query.id)
    const isOwn = series.some(({ venue, key }) => venue === target.venue && key === target.key)
    if (!isOwn || parseReferenceKey(target.key) === undefined) {
      throw unknownRow(query.id, 'It is not a reference price of this asset.')
    }
    return answerAudit(context, query.id, target, {}, styleOf(query))
  },
)
