import { printRowId, VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { timeJson, type ValueStyle } from '@priorbook/sdk/wire'
import { asKnownAt } from '../../rows/index.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { because, IN_FUTURE, planWindow } from '../pages/notices.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'
import { readBookAt } from './book-at.ts'
import type { OneBook } from './one-book.ts'

/** The last book of an instrument that was received at or before a time, or why there is none. */
export async function readAsOf(
  context: ApiContext,
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
  const window = grant.windowStart(context.now())
  const ref = { venue, key }
  const found = await readBookAt(context, record, ref, { at, knownAt, window })
  switch (found.kind) {
    case 'book':
      return { instrument, run: found.run }
    case 'plan_window':
      return none(planWindow(grant.plan, window, style))
    case 'in_the_future':
      return none(IN_FUTURE)
    case 'before_first':
      return none(because(found.reason))
    case 'gap': {
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
  }
}
