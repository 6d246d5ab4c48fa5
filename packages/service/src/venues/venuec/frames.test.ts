import { testWireCases } from '../capture/wire.testing.ts'
import { VENUE_C_CASES } from './frames.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

testWireCases(createVenueCNormalizer(), VENUE_C_CASES)
