import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { ApiReader } from './api-reader.ts'

type Side = { readonly price: string[]; readonly size: string[] }

/** The books of a contract as the interface answers. */
type Books = {
  readonly members: readonly {
    readonly venue: string
    readonly row_id: string | null
    readonly bids: Side | null
    readonly asks: Side | null
  }[]
}

type NetSide = {
  readonly net_price: string[]
  readonly size: string[]
  readonly venue: string[]
  readonly price: string[]
}

/** The consolidated book as the interface answers. */
export type Consolidated = {
  readonly members: readonly {
    readonly venue: string
    readonly row_id: string | null
    readonly net_bid: string | null
    readonly net_ask: string | null
  }[]
  readonly bids: NetSide
  readonly asks: NetSide
  readonly order: {
    readonly size: string
    readonly average_price: string
    readonly parts: readonly {
      readonly venue: string
      readonly size: string
      readonly limit_price: string
      readonly fee: string
      readonly net_amount: string
    }[]
  } | null
}

type Spread = { readonly best_edge: string }

// Levels that the page shows.
const DEPTH = 8

/** Waits until the page shows an instant, and compares everything that belongs to it with the interface. */
export async function expectInstant(
  page: Page,
  api: ApiReader,
  contract: string,
  at: string,
): Promise<void> {
  const expected = await instantOf(api, contract, at)
  await expect.poll(() => shownInstant(page)).toEqual(expected)
}

/** Everything of an instant as the interface answers it. */
export async function instantOf(api: ApiReader, contract: string, at: string) {
  const base = `/v3/contracts/${contract}`
  const query = `at=${at}&depth=${DEPTH}&number_format=string`
  const books = (await api.get(`${base}/books?${query}`)) as Books
  const prices = (await api.get(`${base}/consolidated?${query}`)) as Consolidated
  const micros = Date.parse(at) * 1000 + Number(at.slice(23, 26))
  const edges = (await api.get(
    `${base}/spreads?start_time=${micros}&end_time=${micros + 1}&number_format=string`,
  )) as Spread[]
  const best = edges.map((one) => one.best_edge).toSorted((a, b) => Number(b) - Number(a))[0]
  const clock = `${at.slice(11, 23)} UTC`
  return {
    at: String(micros),
    labels: [clock, clock, clock],
    books: books.members.map(({ venue, row_id: row, bids, asks }) => ({
      venue,
      row: row ?? '',
      bids: bids === null ? null : pairs(bids),
      asks: asks === null ? null : pairs(asks),
    })),
    members: prices.members.map(({ venue, row_id: row, net_bid: bid, net_ask: ask }) => ({
      venue,
      row: row ?? '',
      net: row === null ? [] : [bid, ask],
    })),
    bids: levelsOf(prices.bids),
    asks: levelsOf(prices.asks),
    edge: best ?? null,
  }
}

/** Everything of an instant that the page shows. */
export function shownInstant(page: Page): Promise<ReturnType<typeof readPage>> {
  return page.evaluate(readPage)
}

function pairs({ price, size }: Side): string[][] {
  return price.map((one, index) => [one, size[index]!])
}

function levelsOf({ net_price: net, venue, price }: NetSide): string[][] {
  return net.map((one, index) => [one, venue[index]!.slice(-1).toUpperCase(), price[index]!])
}

// Runs in the page: all texts of an instant, decimals without trailing zeros.
function readPage() {
  const canonical = (text: string | null | undefined): string => {
    const plain = (text ?? '').replaceAll(',', '').trim()
    return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
  }
  const all = (selector: string, from: ParentNode = document): HTMLElement[] => [
    ...from.querySelectorAll<HTMLElement>(selector),
  ]
  const text = (selector: string, from: ParentNode): string =>
    canonical(from.querySelector(selector)?.textContent)
  const exact = (from: Element | null): string | null =>
    from?.querySelector<HTMLElement>('[data-exact]')?.dataset['exact'] ?? null
  const ladder = (book: HTMLElement, side: string): string[][] | null => {
    if (book.querySelector('.no-book') !== null) return null
    const rows = all(`.${side} li:not(.no-level)`, book)
    return rows.map((row) => [text('.price', row), text('.size', row)])
  }
  const net = (side: string): string[][] =>
    all(`.net-${side}`).map((row) => [
      exact(row)!,
      row.querySelector('.venue-tag [aria-hidden]')!.textContent,
      canonical(row.lastElementChild?.textContent),
    ])
  return {
    at: document.querySelector<HTMLElement>('.compare-books')?.dataset['at'],
    labels: all('.compare-page time.at').map((one) => one.textContent),
    books: all('.cbook').map((book) => ({
      venue: book.dataset['venue'],
      row: book.dataset['row'],
      bids: ladder(book, 'bids'),
      asks: ladder(book, 'asks')?.toReversed() ?? null,
    })),
    members: all('.members tbody tr').map((row) => ({
      venue: row.dataset['venue'],
      row: row.dataset['row'],
      net:
        row.querySelector('.no-price') === null
          ? [exact(row.children[4]!), exact(row.children[5]!)]
          : [],
    })),
    bids: net('bid'),
    asks: net('ask').toReversed(),
    edge: exact(document.querySelector('.compare-head .edge')),
  }
}
