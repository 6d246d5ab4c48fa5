import { printRowId, VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { timeJson, type ValueStyle } from '@priorbook/sdk/wire'
import { asKnownAt } from '../../rows/index.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { because, planWindow } from '../pages/notices.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'
import type { OneBook } from './one-book.ts'

// Clocks differ a little: an instant this far ahead of ours is still the present.
const AHEAD_MICROS = 5_000_000

/** The last book of an instrument that was received at or before a time, or why there is none. */
export async function readAsOf(
  { store, now }: ApiContext,
  grant: Grant,
  record: MarketRecord,
  instrument: MarketInstrument,
  { at, known_at: knownAt }: { readonly at: Micros; readonly known_at?: Micros | undefined },
  style: ValueStyle,
): Promise<OneBook> {
  const { venue, key, tokenId } = instrument
  const about = VENUES[venue].booksPer === 'token' ? { token_id: tokenId ?? key } : {}
  const none = (notice: Notice): OneBook => ({
    instrument,
    notice: { last_before: null, ...notice, ...about },
  })
  const window = grant.windowStart(now())
  if (at < window) return none(planWindow(grant.plan, window, style))
  const ref = { venue, key }
  const facts = await store.instrument(ref)
  if (at > Math.max(now() + AHEAD_MICROS, facts?.lastReceived ?? 0)) {
    return none({ code: 'in_the_future', message: 'The instant has not come yet.' })
  }
  const found = await store.asOf({ ...ref, at, knownAt })
  if (found.gap !== undefined) {
    const { gap, lastBefore } = found
    const [shown = gap] = asKnownAt(gap, knownAt ?? Infinity)
    return {
      ...none({
        ...because(gap.reason),
        start_time: timeJson(shown.start, style),
        end_time: timeJson(shown.end, style),
        ...(lastBefore !== undefined && {
          last_before: {
            id: printRowId({ ...ref, sequence: lastBefore.sequence }),
            sequence: lastBefore.sequence,
            received_time: timeJson(lastBefore.received, style),
          },
        }),
      }),
      gap: shown,
    }
  }
  if (found.run === undefined) {
    const isEarly = record.openTime !== undefined && at < record.openTime
    return none(because(isEarly ? 'market_not_open' : 'before_capture'))
  }
  if (found.run.columns.received[found.run.from]! < window) {
    return none(planWindow(grant.plan, window, style))
  }
  return { instrument, run: found.run }
}
