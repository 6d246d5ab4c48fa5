import { testWireCases } from '../capture/wire.testing.ts'
import { VENUE_B_CASES } from './frames.testing.ts'
import { createVenueBNormalizer } from './normalize.ts'

testWireCases(createVenueBNormalizer(), VENUE_B_CASES)
