import { isUtf8 } from 'node:buffer'
import {
  fromBackfillKey,
  isBackfillKey,
  parseRowId,
  PriorbookError,
  type AuditReport,
  type AuditTarget,
} from '@priorbook/sdk/domain'
import {
  HISTORY_METRICS,
  Problem,
  SAMPLE_METRICS,
  timeJson,
  toMarketJson,
  marketContract,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { findMarket } from '../markets/find.ts'
import {
  defineRoute,
  type Answer,
  type ApiContext,
  type Meta,
  type Notice,
  type Route,
} from '../route.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { findRemoved } from '../pages/removed-rows.ts'

/** A stored row beside the raw message that it was derived from. */
export const AUDIT_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(auditRoute)

function auditRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('audit', venue, address.isPlain), async (request, context) => {
    const style = styleOf(request.query)
    request.grant.requireFeature('audit')
    const state = await findMarket(context, address, request.path, request.grant)
    const { id } = request.query
    const target = parseTarget(id)
    if (target.venue !== venue) {
      throw new Problem('invalid_parameter', `the row is one of ${target.venue}`, { param: 'id' })
    }
    const { outcomes } = state.record
    const books = await instrumentsOf(context, state.record)
    const keys = [...books.map(({ key }) => key), ...outcomes.map(({ tokenId }) => tokenId)]
    if (!keys.includes(fromBackfillKey(target.key)))
      throw unknownRow(id, 'It is not a row of this market.')
    return answerAudit(context, id, target, { market: toMarketJson(state, style) }, style)
  })
}

/** Answers with a row beside its raw message; `about` is what the row belongs to. */
export async function answerAudit(
  { auditor, store }: ApiContext,
  id: string,
  target: AuditTarget,
  about: Meta,
  style: ValueStyle,
): Promise<Answer> {
  if (auditor === undefined) {
    const meta = { ...about, ...noticeMeta(JOURNAL_ELSEWHERE) }
    return { kind: 'data', data: null, count: 0, meta }
  }
  const report = await auditor(target)
  if (report === undefined) {
    const removed = await findRemoved(store, target)
    const hint =
      removed === undefined
        ? 'No such row is stored.'
        : 'Retention removed rows of it; the gap of reason retention in /v3/gaps says which.'
    throw unknownRow(id, hint)
  }
  return {
    kind: 'data',
    data: toAuditJson(id, target, report, style),
    count: 1,
    meta: { ...about, ...noticeMeta(noticeOf(report)) },
  }
}

/** The row that an id names: a trade is `key/trade`, a sample `key/metric`; keys may have a slash themselves. */
export function parseTarget(id: string): AuditTarget {
  const row = readRowId(id)
  const { venue } = row
  const slash = row.key.lastIndexOf('/')
  const word = slash < 0 ? '' : row.key.slice(slash + 1)
  const key = row.key.slice(0, Math.max(0, slash))
  const { sequence } = row
  if (word === 'trade') return { venue, key, kind: 'trade', sequence }
  const metrics: readonly string[] = isBackfillKey(key) ? HISTORY_METRICS : SAMPLE_METRICS
  if (metrics.includes(word)) {
    return { venue, key, kind: 'sample', metric: word, sequence }
  }
  return { venue, key: row.key, kind: 'book', sequence }
}

function readRowId(id: string): ReturnType<typeof parseRowId> {
  try {
    return parseRowId(id)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    throw new Problem('invalid_parameter', 'id is not a row id', {
      param: 'id',
      hint: 'Row ids stand in the field `id` of rows: venue:instrument:sequence.',
    })
  }
}

/** An id that names no row of what the path names. */
export function unknownRow(id: string, hint: string): Problem {
  const shown = JSON.stringify(id.slice(0, 120))
  return new Problem('unknown_row', `no row ${shown} is stored here`, { param: 'id', hint })
}

const JOURNAL_ELSEWHERE: Notice = {
  code: 'journal_elsewhere',
  message: 'The journal is not on this machine, so raw messages cannot be shown.',
}

const MESSAGES: { readonly [State in AuditReport['state']]?: string } = {
  different: 'The raw message gives another row than the stored one.',
  raw_expired: 'The raw message was removed by retention.',
}

function noticeOf({ state, detail }: AuditReport): Notice | undefined {
  if (state === 'equal') return undefined
  return { code: state, message: MESSAGES[state] ?? detail ?? 'The raw message cannot be read.' }
}

function toAuditJson(id: string, target: AuditTarget, report: AuditReport, style: ValueStyle) {
  const { raw } = report
  const isText = raw !== undefined && isUtf8(raw.bytes)
  return {
    id,
    kind: target.kind,
    metric: target.metric ?? null,
    state: report.state,
    detail: report.detail ?? null,
    differences: report.differences,
    journal_record: report.journal,
    received_time: timeJson(report.received, style),
    normalizer_version: report.normalizer,
    stored: report.stored,
    derived: report.derived ?? null,
    raw:
      raw === undefined
        ? null
        : {
            text: Buffer.from(raw.bytes).toString(isText ? 'utf8' : 'base64'),
            encoding: isText ? 'utf8' : 'base64',
            bytes: raw.bytes.length,
            received_time: timeJson(raw.received, style),
            socket: raw.slot,
            origin: raw.origin,
            recorder: raw.recorder,
            request: raw.request ?? null,
          },
  }
}
