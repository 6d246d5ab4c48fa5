import type { VenueId } from '@priorbook/sdk/domain'
import type { Normalizer } from './capture/contract.ts'
import { createVenueANormalizer } from './venuea/index.ts'
import { createVenueBNormalizer } from './venueb/index.ts'
import { createVenueCNormalizer } from './venuec/index.ts'

/** The normalizer of every venue; the compiler forces the list to be complete. */
export const NORMALIZERS: Readonly<Record<VenueId, Normalizer>> = {
  venuea: createVenueANormalizer(),
  venueb: createVenueBNormalizer(),
  venuec: createVenueCNormalizer(),
}
