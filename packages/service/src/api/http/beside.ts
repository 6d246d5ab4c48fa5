import { demoAddress, ROUTES } from '@priorbook/sdk/wire'
import type { Beside, Meta, Notice } from '../route.ts'

/** The headers of an answer without an envelope: links, notices, receipt and the number of gaps. */
export function besideHeaders(
  url = '/',
  beside: Beside | undefined,
  nextCursor: string | undefined,
  common: Notice | undefined,
): string[] {
  const headers: string[] = []
  const links: string[] = []
  if (nextCursor !== undefined) links.push(nextLink(url, nextCursor))
  for (const query of beside?.gaps?.queries ?? []) links.push(gapsLink(url, query))
  if (links.length > 0) headers.push('Link', links.join(', '))
  if (beside === undefined) return headers
  const { gaps, receipt } = beside
  const notices = noticeList(withCommon(beside.notices, common))
  if (gaps !== undefined) headers.push('Priorbook-Gaps', String(gaps.count))
  if (notices.length > 0) headers.push('Priorbook-Notice', headerText(notices))
  if (receipt !== undefined) headers.push('Priorbook-Receipt', headerText(receipt))
  return headers
}

/** The notices of an answer and the common one after them, which is not repeated. */
export function withCommon(own: Meta['notice'], common: Notice | undefined): Meta['notice'] {
  if (own === undefined) return common
  if (common === undefined) return own
  const list = noticeList(own)
  if (list.length === 0) return common
  return list.some(({ code }) => code === common.code) ? own : [...list, common]
}

/** Notices as a list, however many there are. */
export function noticeList(notice: Meta['notice']): readonly Notice[] {
  if (notice === undefined) return []
  return Array.isArray(notice) ? (notice as readonly Notice[]) : [notice as Notice]
}

// JSON whose characters beyond ASCII are escaped: headers carry nothing else safely.
function headerText(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function gapsLink(url: string, query: string): string {
  const { address } = ROUTES.gaps
  const isDemo = url.startsWith(demoAddress('/v3/'))
  return `<${isDemo ? demoAddress(address) : address}?${query}>; rel="gaps"`
}

// The address of the request with the cursor of the next page.
function nextLink(url: string, cursor: string): string {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const parts = mark === -1 ? [] : url.slice(mark + 1).split('&')
  const kept = parts.filter((part) => part !== '' && !part.startsWith('cursor='))
  const safe = [...kept, `cursor=${cursor}`].join('&').replaceAll(/[<>"]/g, encodeURIComponent)
  return `<${path.replaceAll(/[<>"]/g, encodeURIComponent)}?${safe}>; rel="next"`
}
