import { PriorbookError, type MarketRecord } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureRequest, CaptureSink } from '../capture/contract.ts'
import type { Rest, RestAnswer } from '../capture/rest.ts'
import { normalizeCatalogAnswer } from './catalog.ts'

/** What the parts of the connector need for asking the REST interface. */
export type Asking = {
  readonly rest: Rest
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** Tokens that one request costs. */
  readonly cost: number
}

/** One list to walk through, page by page. */
export type Walk = {
  readonly request: CaptureRequest
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

/** How a walk ended: with the last page, cut because it did not end, or with a page that failed. */
export type WalkEnd = 'complete' | 'cut' | 'failed'

// Beyond any series that is recorded: 1,000 markets or 200 events a page.
const MAX_PAGES = 50

/**
 * Walks through the pages of a list. Pages that repeat a cursor, bring nothing and go on, or never
 * end stop the walk: a catalogue that is asked again soon is better than one that takes the quota.
 */
export async function walk(
  { rest, log, cost }: Asking,
  { request, path, query }: Walk,
  signal: AbortSignal,
  take: (value: unknown) => number,
): Promise<WalkEnd> {
  const seen = new Set<string>()
  let cursor = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const paged = cursor === '' ? query : { ...query, cursor }
    const answer: RestAnswer = await rest.ask({ request, path, query: paged, cost }, signal)
    if (!answer.ok) return 'failed'
    const items = take(answer.value)
    const { cursor: next } = (answer.value ?? {}) as { readonly cursor?: unknown }
    if (typeof next !== 'string' || next === '') return 'complete'
    if (seen.has(next) || items === 0) {
      log.warn({ path, query, page }, 'pages of venue B repeat or are empty: the walk stops')
      return 'cut'
    }
    seen.add(next)
    cursor = next
  }
  log.warn({ path, query, pages: MAX_PAGES }, 'pages of venue B do not end: the walk stops')
  return 'cut'
}

/** The market records of an answer, for the connector's own use; the recorder reads the journal. */
export function recordsOf(value: unknown, sink: CaptureSink, series?: string): MarketRecord[] {
  const context = series === undefined ? {} : { seriesTicker: series }
  try {
    const { events } = normalizeCatalogAnswer(value, { received: sink.now(), journal: 0 }, context)
    return events.map(({ record }) => record)
  } catch (error) {
    // The recorder puts the same answer into quarantine.
    if (error instanceof PriorbookError) return []
    throw error
  }
}
