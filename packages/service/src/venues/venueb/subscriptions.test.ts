import { describe, expect, it } from 'vitest'
import { Subscriptions, type Command } from './subscriptions.ts'

const paramsOf = ({ text }: Command) =>
  (JSON.parse(text) as { params: Record<string, unknown> }).params

/** Accepts all commands up to a limit of markets, as a venue would; sids are the ids of commands. */
function agree(subscriptions: Subscriptions, limit = Infinity): string[] {
  const log: string[] = []
  for (let count = 0; count < 100; count++) {
    const command = subscriptions.next(0)
    if (command === undefined) return log
    const { action, subscription, tickers, id } = command
    const size = subscription.tickers.size + tickers.length
    const isTooMany = (action === 'subscribe' || action === 'add_markets') && size > limit
    log.push(`${action} ${subscription.channel} ${tickers.join()}${isTooMany ? ' refused' : ''}`)
    if (isTooMany) subscriptions.tooMany(command)
    else if (action === 'subscribe') subscriptions.confirm(id, id)
    else if (action === 'unsubscribe') subscriptions.ended(subscription.sid!)
    else subscriptions.applied(command, undefined)
  }
  throw new Error('the commands do not end')
}

describe('subscriptions', () => {
  it('follow the wanted markets, and end with the last one', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.want(new Set(['A']))
    expect(agree(subscriptions)).toStrictEqual([
      'subscribe orderbook_delta A',
      'subscribe trade A',
      'subscribe market_lifecycle_v2 ',
    ])
    subscriptions.want(new Set(['B', 'C']))
    expect(agree(subscriptions)).toStrictEqual([
      'unsubscribe orderbook_delta ',
      'subscribe orderbook_delta B,C',
      'unsubscribe trade ',
      'subscribe trade B,C',
    ])
    subscriptions.want(new Set(['C', 'D']))
    expect(agree(subscriptions)).toStrictEqual([
      'delete_markets orderbook_delta B',
      'add_markets orderbook_delta D',
      'delete_markets trade B',
      'add_markets trade D',
    ])
    expect(subscriptions.bookOf('D')?.channel).toBe('orderbook_delta')
    expect(subscriptions.bookOf('B')).toBeUndefined()
  })

  it('request no prices as prices of no, for books alone', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.want(new Set(['A']))
    const book = subscriptions.next(0)!
    expect(paramsOf(book)).toStrictEqual({
      channels: ['orderbook_delta'],
      market_tickers: ['A'],
      use_yes_price: false,
    })
    expect(paramsOf(subscriptions.next(0)!)).toStrictEqual({
      channels: ['trade'],
      market_tickers: ['A'],
    })
    expect(subscriptions.bookOf('A')).toBe(book.subscription)
    expect(subscriptions.unanswered(5001, 5000)).toHaveLength(2)
  })

  it('learn the limit of the venue and split', () => {
    const subscriptions = new Subscriptions(true)
    const tickers = Array.from({ length: 23 }, (_, index) => `M${index}`)
    subscriptions.want(new Set(tickers))
    agree(subscriptions, 5)
    expect(subscriptions.limit).toBe(5)
    const books = subscriptions.all.filter(({ channel }) => channel === 'orderbook_delta')
    expect(books.map(({ tickers: held }) => held.size)).toStrictEqual([5, 5, 5, 5, 3])
    expect(books.flatMap(({ tickers: held }) => [...held]).sort()).toStrictEqual(tickers.sort())
  })

  it('are not extended where the venue does not support that', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.setFixed('trade')
    subscriptions.want(new Set(['A']))
    agree(subscriptions)
    subscriptions.want(new Set(['A', 'B']))
    expect(agree(subscriptions)).toStrictEqual([
      'add_markets orderbook_delta B',
      'subscribe trade B',
    ])
  })

  it('skip a channel that the venue does not offer, until the next connection', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.setUnavailable('trade')
    subscriptions.setUnavailable('market_lifecycle_v2')
    subscriptions.want(new Set(['A']))
    expect(agree(subscriptions)).toStrictEqual(['subscribe orderbook_delta A'])
    subscriptions.clear()
    expect(subscriptions.isUnavailable('trade')).toBe(false)
    expect(agree(subscriptions)).toStrictEqual(['subscribe market_lifecycle_v2 '])
  })

  it('follow the venue’s own list of markets', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.want(new Set(['A']))
    agree(subscriptions)
    subscriptions.want(new Set(['A', 'B', 'C']))
    const add = subscriptions.next(0)!
    expect(subscriptions.commandOf(add.id, undefined)).toBe(add)
    expect(subscriptions.commandOf(undefined, add.subscription.sid)).toBe(add)
    expect(subscriptions.applied(add, ['A', 'C'])).toStrictEqual(['C'])
    expect(subscriptions.commandOf(add.id, undefined)).toBeUndefined()
  })

  it('that failed or ended are requested again', () => {
    const subscriptions = new Subscriptions(true)
    subscriptions.want(new Set(['A']))
    subscriptions.failed(subscriptions.next(0)!)
    expect(agree(subscriptions)[0]).toBe('subscribe orderbook_delta A')
    const { sid } = subscriptions.bookOf('A')!
    expect(subscriptions.snapshot(sid!, ['A'], 0)).toMatchObject({ action: 'get_snapshot' })
    expect(subscriptions.ended(sid!)?.tickers).toStrictEqual(new Set(['A']))
    expect(subscriptions.ended(sid!)).toBeUndefined()
    expect(subscriptions.snapshot(sid!, ['A'], 0)).toBeUndefined()
    expect(agree(subscriptions)).toStrictEqual(['subscribe orderbook_delta A'])
  })
})
