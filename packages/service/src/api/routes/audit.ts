import { isUtf8 } from 'node:buffer'
import {
  VENUES,
  parseRowId,
  PriorbookError,
  type AuditReport,
  type AuditTarget,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  COUNT,
  listOf,
  objectOf,
  Problem,
  SAMPLE_METRICS,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  timeJson,
  toMarketJson,
  type JsonSchema,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES, type VenueAddress, aliasOf } from '../markets/addresses.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { findMarket } from '../markets/find.ts'
import { required, textParam, STYLE_PARAMS } from '../params.ts'
import { defineRoute, type Route } from '../route.ts'
import { noticeMeta, styleOf } from '../catalogue/page.ts'

const RAW = objectOf({
  text: TEXT,
  encoding: { enum: ['utf8', 'base64'] },
  bytes: COUNT,
  received_time: TIME,
  socket: COUNT,
  origin: TEXT,
  recorder: TEXT,
  request: { description: 'What was asked, where the message is an answer; else null.' },
})

const AUDIT_SCHEMA: JsonSchema = {
  anyOf: [
    { type: 'null' },
    objectOf({
      id: TEXT,
      kind: { enum: ['book', 'trade', 'sample'] },
      metric: TEXT_OR_NULL,
      state: { enum: ['equal', 'different', 'raw_expired', 'raw_missing', 'raw_damaged'] },
      detail: TEXT_OR_NULL,
      differences: listOf(TEXT),
      journal_record: COUNT,
      received_time: TIME,
      normalizer_version: COUNT,
      stored: {},
      derived: {},
      raw: { anyOf: [{ type: 'null' }, RAW] },
    }),
  ],
}

/** A stored row beside the raw message that it was derived from. */
export const AUDIT_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(auditRoute)

function auditRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute({
    id: `${venue}_audit`,
    address: `${address.market}/audit`,
    ...aliasOf(address, '/audit'),
    tag: VENUES[venue].label,
    summary: 'The raw message behind a row',
    description:
      'The message exactly as it was received, the request that it answered, and the row that the message gives now, compared with the stored one. `raw_expired` where retention removed the message.',
    path: address.path,
    query: {
      id: required(textParam(300, 'The id of a book row, trade or sample of this market.')),
      time_format: STYLE_PARAMS.time_format,
    },
    data: AUDIT_SCHEMA,
    async handle(request, context) {
      const style = styleOf(request.query)
      request.grant.requireFeature('audit')
      const state = await findMarket(context, address, request.path, request.grant)
      const { id } = request.query
      const target = parseTarget(id, venue)
      const { outcomes } = state.record
      const books = await instrumentsOf(context, state.record)
      const keys = [...books.map(({ key }) => key), ...outcomes.map(({ tokenId }) => tokenId)]
      if (!keys.includes(target.key)) throw unknownRow(id, 'It is not a row of this market.')
      const market = toMarketJson(state, style)
      if (context.auditor === undefined) {
        const notice = {
          code: 'journal_elsewhere',
          message: 'The journal is not on this machine, so that raw messages cannot be shown.',
        }
        return { kind: 'data', data: null, count: 0, meta: { market, ...noticeMeta(notice) } }
      }
      const report = await context.auditor(target)
      if (report === undefined) throw unknownRow(id, 'No such row is stored.')
      return {
        kind: 'data',
        data: toAuditJson(id, target, report, style),
        count: 1,
        meta: { market, ...noticeMeta(noticeOf(report)) },
      }
    },
  })
}

// A trade is `key/trade`, a sample `key/metric`; tickers of venue B may hold a slash themselves.
function parseTarget(id: string, venue: VenueId): AuditTarget {
  const row = readRowId(id)
  if (row.venue !== venue) {
    throw new Problem('invalid_parameter', `the row is one of ${row.venue}`, { param: 'id' })
  }
  const slash = row.key.lastIndexOf('/')
  const word = slash < 0 ? '' : row.key.slice(slash + 1)
  const key = row.key.slice(0, Math.max(0, slash))
  const { sequence } = row
  if (word === 'trade') return { venue, key, kind: 'trade', sequence }
  if (SAMPLE_METRICS.some((metric) => metric === word)) {
    return { venue, key, kind: 'sample', metric: word, sequence }
  }
  return { venue, key: row.key, kind: 'book', sequence }
}

function readRowId(id: string): ReturnType<typeof parseRowId> {
  try {
    return parseRowId(id)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    throw new Problem('invalid_parameter', 'id is no row id', {
      param: 'id',
      hint: 'Row ids stand in the field `id` of rows: venue:instrument:sequence.',
    })
  }
}

function unknownRow(id: string, hint: string): Problem {
  const shown = JSON.stringify(id.slice(0, 120))
  return new Problem('unknown_row', `no row ${shown} of this market`, { param: 'id', hint })
}

function noticeOf({ state, detail }: AuditReport): { code: string; message: string } | undefined {
  switch (state) {
    case 'equal':
      return undefined
    case 'different':
      return { code: state, message: 'The raw message gives another row than the stored one.' }
    case 'raw_expired':
      return { code: state, message: 'The raw message was removed by retention.' }
    case 'raw_missing':
    case 'raw_damaged':
      return { code: state, message: detail ?? 'The raw message cannot be read.' }
  }
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
