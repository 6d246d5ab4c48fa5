import { toMicros, type ErrorCode } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { toReading, type CaptureRequest, type Normalizer } from './contract.ts'

/**
 * One message of a venue as text, and everything that the normalizer must make of it, derived by hand from
 * the venue's documentation. The messages are our own, in the shapes of recorded ones.
 */
export type WireCase = {
  readonly name: string
  /** The request that the text answers; absent for a frame of the socket. */
  readonly request?: CaptureRequest
  readonly text: string
  /** The complete events, without `received` and `journal`, which every event gets from its arrival. */
  readonly events: readonly object[]
  /** Malformed parts, where the rest of the message stands. */
  readonly problems?: readonly { readonly where: string; readonly code: ErrorCode }[]
  /** The code of a message that is malformed as a whole. */
  readonly error?: ErrorCode
}

const ARRIVAL = { received: toMicros(1_791_192_801_500_000), journal: 12 }

/** Tests that a normalizer makes exactly the expected events of every message. */
export function testWireCases(normalizer: Normalizer, cases: readonly WireCase[]): void {
  it.each(cases)('$name', ({ request, text, events, problems = [], error }) => {
    const reading = toReading(() => {
      const value: unknown = JSON.parse(text)
      return request === undefined
        ? normalizer.frame(value, ARRIVAL)
        : normalizer.answer(request, value, ARRIVAL)
    })
    expect({
      events: reading.events,
      problems: reading.problems.map(({ where, error: { code } }) => ({ where, code })),
      error: reading.error?.code,
    }).toStrictEqual({ events: events.map((event) => ({ ...event, ...ARRIVAL })), problems, error })
  })
}
