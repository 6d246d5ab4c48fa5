import { REFERENCE_METRIC } from '@priorbook/sdk/domain'
import { SampleColumns } from '@priorbook/sdk/tape'
import {
  contractOf,
  INTERVALS,
  referenceColumns,
  timeJson,
  toReferenceJson,
  type ReceiptJson,
  type ReferencePriceJson,
} from '@priorbook/sdk/wire'
import { withHeads, type ReadRows, type ReceiptCounts } from '../../rows/index.ts'
import { findReferences, gapsOfReferences, type ReferenceSeries } from '../markets/references.ts'
import { answerRows } from '../pages/answer-rows.ts'
import { because, presentNotices, RECEIPT_LEFT_OUT, windowNotice } from '../pages/notices.ts'
import { openPage, rangeMeta, styleOf, type Page } from '../pages/page.ts'
import { readPage, type ReadPage } from '../pages/row-page.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import { lastOfBuckets } from '../pages/sampled-rows.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

/** Reference prices of an asset: all of them, or the last one of every bucket. */
export const REFERENCE_PRICES_ROUTE: Route = defineRoute(
  contractOf('reference_prices'),
  async (request, context) => {
    const { query, grant } = request
    const { feed, known_at: knownAt } = query
    const { series, asset } = await findReferences(context, grant, request.path.asset, feed)
    const style = styleOf(query)
    const interval = query.interval === undefined ? undefined : INTERVALS[query.interval]
    const page = openPage(request, context, { asset, feed, interval, knownAt })
    const all: ReadRows<SampleColumns> = (rows) =>
      context.store.samples({ ...rows, metric: REFERENCE_METRIC })
    const source = {
      hasOwnGaps: true,
      gapsOf: (streams, span) => gapsOfReferences(context, streams, span),
      read: interval === undefined ? all : lastOfBuckets(all, interval, () => new SampleColumns()),
    } satisfies Parameters<typeof readPage<ReferenceSeries, SampleColumns>>[2]
    const read = await readPage(page, series, source, knownAt)
    const { rows, hasMore, receipt } = read
    const [{ venue, key }] = series
    return answerRows<ReferencePriceJson>(request, {
      type: 'reference',
      rows: rows.map(({ columns, row, ordinal, lane }) =>
        toReferenceJson(columns, row, ordinal, series[lane]!, style, interval),
      ),
      columns: referenceColumns(interval !== undefined),
      meta: { range: rangeMeta(page.range, style) },
      notices: await noticesOf(context, series, page, read),
      receipt: hasMore ? undefined : await receiptOf(context, series, receipt, knownAt),
      gaps: {
        list: read.gaps,
        market: { venue, ...(series.length === 1 && { key }) },
        times: rows.map(({ columns, row }) => columns.received[row]!),
        isDown: page.order === 'desc',
        style,
      },
      nextCursor: hasMore ? page.next(read.positions) : undefined,
    })
  },
)

async function receiptOf(
  { store }: ApiContext,
  series: readonly ReferenceSeries[],
  receipt: ReceiptCounts | undefined,
  knownAt: number | undefined,
): Promise<ReceiptJson | undefined> {
  if (receipt === undefined) return undefined
  const { rows, gaps } = receipt
  const counted = receipt.instruments()
  const instruments: Awaited<ReturnType<typeof withHeads>>[number][] = []
  for (const [venue, own] of Map.groupBy(series, (one) => one.venue)) {
    const keys = new Set(own.map(({ key }) => key))
    const part = counted.filter(({ key }) => keys.has(key))
    const stored = { venue, kind: 'sample', metric: REFERENCE_METRIC, knownAt } as const
    instruments.push(...(await withHeads(store, part, stored)))
  }
  // The part of row ids between venue and sequence.
  const named = instruments.map((one) => ({ ...one, key: `${one.key}/${REFERENCE_METRIC}` }))
  return { rows, gaps, instruments: named }
}

async function noticesOf(
  context: ApiContext,
  series: readonly ReferenceSeries[],
  page: Page,
  { rows, hasMore, allGaps, receipt }: ReadPage<unknown>,
): Promise<readonly Notice[]> {
  const isLeftOut = receipt === undefined && !hasMore
  const isEmpty = rows.length === 0 && page.isFirst
  return presentNotices(
    windowNotice(page.range) ??
      (isEmpty ? await whyEmpty(context, series, page, allGaps) : undefined),
    isLeftOut ? RECEIPT_LEFT_OUT : undefined,
  )
}

async function whyEmpty(
  { store }: ApiContext,
  series: readonly ReferenceSeries[],
  { from, end }: Page,
  gaps: ReadPage<unknown>['allGaps'],
): Promise<Notice> {
  const around = gaps.find((gap) => gap.start <= from && (gap.end ?? Infinity) >= end)
  if (around !== undefined) return because(around.reason)
  if (gaps.some(({ reason }) => reason === 'retention')) return because('retention')
  const first = Math.min(...series.map(({ extent }) => extent.firstReceived))
  let begins = first
  for (const one of series) {
    begins = Math.min(begins, (await findRemoved(store, one))?.start ?? Infinity)
  }
  if (end <= begins) return { ...because('before_capture'), available_from: timeJson(first, {}) }
  return { code: 'no_rows_in_range', message: 'Nothing was recorded in the range.' }
}
