import type { Micros } from '@priorbook/sdk/domain'
import { toReading, type CaptureSink, type Normalizer } from '../contract.ts'

/** A sink for a connector that only looks: it reads answers and keeps nothing. */
export function createSurveySink(normalizer: Normalizer): CaptureSink {
  const now = (): Micros => (Date.now() * 1000) as Micros
  return {
    now,
    steadyNow: now,
    position: () => 0,
    frame: (_slot, received, _bytes, parsed) =>
      toReading(() => normalizer.frame(parsed, { received, journal: 0 })),
    answer: (request, received, _bytes, parsed) =>
      toReading(() => normalizer.answer(request, parsed, { received, journal: 0 })),
    note: () => undefined,
    book: () => undefined,
  }
}
