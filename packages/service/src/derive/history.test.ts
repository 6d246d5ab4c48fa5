import { toMicros } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { createDataFolder, START_MS } from '../recorder/scripted.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { backfilledSpan, pricesFamily, tradesFamily } from '../store/store.ts'
import type { History, HistoryContext } from '../venues/capture/history.ts'
import { backfillHistory } from './history.ts'

const TICKER = 'KXTEST-1'
const CREATED = START_MS
const OPENED = START_MS + 3_600_000
const REACHED = START_MS + 7_200_000
const timeOf = (ms: number): string => new Date(ms).toISOString()

/** A venue with one market that was listed an hour before it opened. */
function oneMarket({ sink }: HistoryContext): History {
  const market = {
    ticker: TICKER,
    event_ticker: 'KXTEST',
    status: 'active',
    created_time: timeOf(CREATED),
    open_time: timeOf(OPENED),
    close_time: timeOf(REACHED),
  }
  const event = { event_ticker: 'KXTEST', series_ticker: 'KXS', title: 'A test' }
  const bytes = Buffer.from(JSON.stringify({ event, markets: [market] }))
  const all = async function* () {
    yield { reached: toMicros(REACHED * 1000) }
  }
  return {
    calls: 0,
    async *catalogue() {
      yield { reached: toMicros(REACHED * 1000) }
      sink.answer({ kind: 'history_event', ticker: 'KXTEST' }, sink.now(), bytes, undefined)
    },
    refresh: () => Promise.resolve(),
    trades: all,
    prices: all,
  }
}

it('the history of a market is fetched from its listing on, and says so', async () => {
  const data = createDataFolder()
  const store = openEmbeddedStore({ file: data.tape })
  onTestFinished(() => store.close())
  const quiet = (): void => undefined
  const scope = { start: toMicros(0), end: toMicros(REACHED * 1000), withOpen: true }
  const report = await backfillHistory(
    {
      venue: 'venueb',
      store,
      journalDir: data.journal,
      origin: 'live',
      recorder: 'r1',
      log: { info: quiet, warn: quiet, error: quiet },
      scope: { ...scope, event: 'KXTEST' },
      open: oneMarket,
    },
    new AbortController().signal,
  )
  expect(report).toMatchObject({ markets: 1, quarantined: 0 })
  const span = { from: CREATED * 1000, to: REACHED * 1000 }
  expect(await backfilledSpan(store, 'venueb', tradesFamily(TICKER))).toEqual(span)
  expect(await backfilledSpan(store, 'venueb', pricesFamily(TICKER))).toEqual(span)
})
