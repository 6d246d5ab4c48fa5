import { isLive, type Followed, type Roster } from './roster.ts'
import type { CatalogClient } from './catalog-client.ts'
import { parseRoundSlug, printRoundSlug, windowSeconds } from './rounds.ts'

/** Finds rounds before they start and keeps their records fresh while they trade. */
export interface Discovery {
  /** Goes through Gamma's list of what ends soon. */
  scan(signal: AbortSignal): Promise<void>
  /** Asks for the rounds that must exist by the calendar and were not found yet. */
  askNextRounds(signal: AbortSignal): Promise<void>
  /** Asks again for the markets that trade or are about to: volume, liquidity, status, tokens. */
  refresh(signal: AbortSignal): Promise<void>
}

/** What discovery needs. */
export type DiscoveryOptions = {
  readonly assets: readonly string[]
  readonly windows: readonly string[]
  readonly aheadMs: number
  readonly speed: number
  readonly roster: Roster
  readonly client: CatalogClient
  /** Our wall clock in milliseconds. */
  now(): number
}

const ROUNDS_AHEAD = 2
// A round is asked for again from this long before its start on; tokens can come late.
const SOON_MS = 120_000

/** Creates the discovery. */
export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { assets, windows, aheadMs, speed, roster, client } = options
  const isWanted = createCoverage(assets, windows)
  const longestMs = Math.max(...windows.map((window) => (windowSeconds(window) ?? 0) * 1000))

  return {
    async scan(signal) {
      const fromMs = options.now()
      const listed = await client.endingBetween(fromMs, fromMs + aheadMs + longestMs, signal)
      const unknown = (listed ?? [])
        .filter(({ slug, conditionId }) => isWanted(slug) && roster.get(conditionId) === undefined)
        .map(({ conditionId }) => conditionId)
      if (unknown.length > 0) await client.byCondition([...new Set(unknown)], false, signal)
    },
    async askNextRounds(signal) {
      const nowSeconds = options.now() / 1000
      for (const window of windows) {
        // In an accelerated world rounds are shorter than their names; off the grid of whole
        // seconds their slugs cannot be guessed, and the list alone finds them.
        const length = (windowSeconds(window) ?? NaN) / speed
        if (!Number.isInteger(length)) continue
        const current = Math.floor(nowSeconds / length) * length
        for (const asset of assets) {
          for (let ahead = 0; ahead <= ROUNDS_AHEAD; ahead++) {
            const slug = printRoundSlug(asset, window, current + ahead * length)
            if (!roster.hasSlug(slug)) await client.bySlug(slug, signal)
          }
        }
      }
    },
    async refresh(signal) {
      const wallMs = options.now()
      const due = [...roster.all].filter((market) => isDue(market, wallMs, SOON_MS / speed))
      const ids = due.map(({ conditionId }) => conditionId)
      const named = await client.byCondition(ids, false, signal)
      // Closed before its time: Gamma hides it.
      const hidden = ids.filter((id) => !named.has(id))
      await client.byCondition(hidden, true, signal)
    },
  }
}

/** Says whether a slug is that of a round of these assets and windows. */
export function createCoverage(
  assets: readonly string[],
  windows: readonly string[],
): (slug: string) => boolean {
  return (slug) => {
    const round = parseRoundSlug(slug)
    return round !== undefined && assets.includes(round.asset) && windows.includes(round.window)
  }
}

function isDue(market: Followed, wallMs: number, soonMs: number): boolean {
  if (market.closeMs <= wallMs) return false
  if (!market.isListed || market.tokens.length === 0) return true
  return isLive(market, wallMs) || market.openMs - wallMs < soonMs
}
