import type { Range } from './range.ts'
import { parseLinkRange, parseLinkTime, printLinkRange, printLinkTime } from './time.ts'

/** What the page of a contract shows, as in its address. */
export type CompareView = {
  /** The instant shown; absent while the page follows the present. */
  readonly time: number | undefined
  readonly side: 'buy' | 'sell'
  /** How many shares to buy or sell. */
  readonly size: string
  /** Best bid and ask of each member, or the middle between them. */
  readonly lines: 'quotes' | 'middle'
  /** The span of the chart; everything by default. */
  readonly range?: Range | undefined
}

/** The size where the address names none. */
export const USUAL_SIZE = '100'

/** True for a positive decimal that the interface takes as a size: at most 8 decimals. */
export function isSize(text: string): boolean {
  return /^\d{1,7}(\.\d{1,8})?$/.test(text) && /[1-9]/.test(text)
}

/** Reads a view from the query of an address; what is missing or wrong is as usual. */
export function parseCompareView(query: URLSearchParams): CompareView {
  const size = query.get('size') ?? ''
  return {
    time: parseLinkTime(query.get('t')),
    side: query.get('side') === 'sell' ? 'sell' : 'buy',
    size: isSize(size) ? size : USUAL_SIZE,
    lines: query.get('lines') === 'middle' ? 'middle' : 'quotes',
    range: parseLinkRange(query),
  }
}

/** Prints the query of an address; what is as usual is left out. */
export function printCompareView({ time, side, size, lines, range }: CompareView): string {
  return joinQuery([
    printLinkRange(range),
    time === undefined ? '' : `t=${printLinkTime(time)}`,
    side === 'buy' ? '' : `side=${side}`,
    size === USUAL_SIZE ? '' : `size=${size}`,
    lines === 'quotes' ? '' : `lines=${lines}`,
  ])
}

/** The query of an address from its parts; those that are empty are left out. */
export function joinQuery(parts: readonly string[]): string {
  const given = parts.filter((part) => part !== '')
  return given.length === 0 ? '' : `?${given.join('&')}`
}
