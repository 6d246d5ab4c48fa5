import type { CaptureLog, CaptureRequest } from '../capture/contract.ts'
import { readPages, type PagesEnd, type Rest, type RestAnswer } from '../capture/rest.ts'

/** What the parts of the connector need to send requests. */
export type RequestContext = { readonly rest: Rest; readonly log: CaptureLog }

/** A list that the venue sends in pages. */
export type CursorList = {
  readonly request: CaptureRequest
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

/** Max pages per list: beyond any recorded series, with 1,000 markets or 200 events per page. */
const MAX_PAGES = 50

/** Reads all pages of a list; `onPage` returns how many items the page holds. */
export async function readCursorPages(
  { rest, log }: RequestContext,
  { request, path, query }: CursorList,
  onPage: (answer: RestAnswer & { readonly ok: true }) => number,
  signal: AbortSignal,
): Promise<PagesEnd> {
  const end = await readPages<string>(MAX_PAGES, async (cursor) => {
    const paged = cursor === undefined ? query : { ...query, cursor }
    const answer = await rest.send({ request, path, query: paged }, signal)
    if (!answer.ok) return undefined
    const { cursor: next } = (answer.value ?? {}) as { readonly cursor?: unknown }
    const items = onPage(answer)
    return typeof next === 'string' && next !== '' ? { items, next } : { items }
  })
  if (end === 'cut') {
    log.warn({ path, query }, 'pages of venue B repeat, are empty or do not end: reading stops')
  }
  return end
}
