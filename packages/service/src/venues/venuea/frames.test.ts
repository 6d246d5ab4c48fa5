import { testWireCases } from '../capture/wire.testing.ts'
import { VENUE_A_CASES } from './frames.testing.ts'
import { createVenueANormalizer } from './normalize.ts'

testWireCases(createVenueANormalizer(), VENUE_A_CASES)
