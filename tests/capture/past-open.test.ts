import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createEmulatedHome } from './emulated-home.ts'
import { withApi } from './past-api.ts'
import { happened, peakOf, served, startCommand, type TradeRow } from './past-trades.ts'

/** Rounds of 15 minutes take 90 s, so that they trade while their history is fetched. */
const SPEED = 10
const TRADES = 40
const EXACT = 'limit=1000&number_format=string&time_format=epoch_us'

const VENUES = [
  {
    venue: 'venueb',
    select: ['--series', 'KXBTC15M'],
    list: '/v3/venueb/markets?series=KXBTC15M',
    path: (id: string) => `/v3/venueb/${id}`,
    perSecond: 1000,
  },
  {
    venue: 'venuec',
    select: ['--asset', 'BTC', '--window', '15m'],
    list: '/v3/btc/markets?window=15m',
    path: (id: string) => `/v3/btc/markets/${id}`,
    perSecond: 1,
  },
] as const

type Market = {
  readonly market_id: string
  readonly outcomes: readonly { readonly label: string; readonly token_id: string | null }[]
}
type Coverage = { readonly backfilled_trades: { readonly fetched_until: number } | null }

// Trades go on arriving between two pages and between two runs: each run goes on where the last one stopped.
it('fetches the trades of open markets run by run, without losing one', async (test) => {
  const { emulator, data, env, home, ...rest } = await createEmulatedHome(test, {
    seed: 'open',
    speed: SPEED,
    venues: ['venueb', 'venuec'],
    markets: { venueb: 4 },
    rates: { changes: 0.5, trades: TRADES },
    log: { memory: true, books: false },
  })
  const from = new Date(Date.now() - 600_000).toISOString()
  await pause(36_000)
  for (let round = 0; round < 5; round++) {
    for (const { venue, select } of VENUES) {
      const where = ['--from', from, '--data', data.path, '--json']
      const ran = await startCommand(env, 'backfill', venue, ...select, ...where).ended
      expect(ran).toMatchObject({ code: 0, err: '' })
    }
    await pause(6_000)
  }
  const compared = await withApi({ emulator, data, env, home, ...rest }, async (api) => {
    let count = 0
    for (const { venue, list, path, perSecond } of VENUES) {
      for (const { market_id: id, outcomes } of await api.all<Market>(`${list}&${EXACT}`)) {
        const coverage = `/v3/coverage?venue=${venue}&market=${id}&time_format=epoch_us`
        const { data: covered } = await api.get<Coverage>(coverage)
        const until = covered[0]?.backfilled_trades?.fetched_until ?? 0
        const trades = `${path(id)}/trades?${EXACT}&origin=backfill`
        const rows = served(await api.all<TradeRow>(trades), outcomes[0]!.label, perSecond)
        const key = venue === 'venueb' ? id : outcomes[0]!.token_id!
        const truth = happened(emulator.truth.entries, venue, key, perSecond).filter(
          (text) => Number(text.split(' ')[0]) < until / (1_000_000 / perSecond),
        )
        expect(rows).toEqual(truth)
        count += rows.length
      }
    }
    return count
  })
  expect(compared).toBeGreaterThan(400)
  // The limits of the venues at speed 1, although the emulator allows ten times as much.
  const { entries } = emulator.truth
  expect(peakOf(entries, /^\/trade-api/, 1000)).toBeLessThanOrEqual(20)
  expect(peakOf(entries, /^\/gamma\/markets/, 10_000)).toBeLessThanOrEqual(300)
  expect(peakOf(entries, /^\/data\/trades/, 10_000)).toBeLessThanOrEqual(200)
}, 300_000)
