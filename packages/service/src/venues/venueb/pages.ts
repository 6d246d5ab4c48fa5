import type { CaptureLog, CaptureRequest } from '../capture/contract.ts'
import {
  readPages,
  type PagesEnd,
  type Rest,
  type RestAnswer,
  type RestCall,
} from '../capture/rest.ts'

/** What the parts of the connector need to send requests. */
export type RequestContext = { readonly rest: Rest; readonly log: CaptureLog }

/** A list that the venue sends in pages. */
export type CursorList = {
  readonly request: CaptureRequest
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Max pages; 50 by default, beyond any series, with 1,000 markets or 200 events a page. */
  readonly maxPages?: number
} & Pick<RestCall, 'describe' | 'keep' | 'timeoutMs'>

const MAX_PAGES = 50

/** Reads all pages of a list; `onPage` returns how many items the page holds. */
export async function readCursorPages(
  { rest, log }: RequestContext,
  { maxPages = MAX_PAGES, ...call }: CursorList,
  onPage: (answer: RestAnswer & { readonly ok: true }) => number,
  signal: AbortSignal,
): Promise<PagesEnd> {
  const end = await readPages<string>(maxPages, async (cursor) => {
    const query = cursor === undefined ? call.query : { ...call.query, cursor }
    const answer = await rest.send({ ...call, query }, signal)
    if (!answer.ok) return undefined
    const { cursor: next } = (answer.value ?? {}) as { readonly cursor?: unknown }
    const items = onPage(answer)
    return typeof next === 'string' && next !== '' ? { items, next } : { items }
  })
  if (end === 'cut') {
    log.warn(
      { path: call.path, query: call.query },
      'pages of venue B repeat, are empty or do not end: reading stops',
    )
  }
  return end
}
