import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MarketRecord, Micros } from '../../packages/sdk/src/domain/index.ts'
import { withoutOutcome, type Revision } from '../../packages/sdk/src/backtest/index.ts'
import { normalizeCatalogAnswer } from '../../packages/service/src/venues/venueb/index.ts'

/**
 * Records of the recorded markets: open with their ticks from the start, and what the venue said in the
 * end at the time it settled. Series are taken as ones without maker fees.
 */
export function recordedRevisions(recordings: string): Revision[] {
  const folder = join(recordings, 'venueb', 'events')
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((name) => {
    const { response } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      response: unknown
    }
    const at = { received: 0 as Micros, journal: 1 }
    return normalizeCatalogAnswer(response, at).events.flatMap(({ record }): Revision[] => {
      const native = { ...record.native, series: { fee_type: 'quadratic', fee_multiplier: 1 } }
      const final: MarketRecord = { ...record, native }
      const open: MarketRecord = { ...withoutOutcome(final), status: 'open' }
      const end = record.settlement?.settledTime ?? record.closeTime ?? 0
      return [
        { at: record.openTime ?? 0, record: open },
        { at: end, record: final },
      ]
    })
  })
}
