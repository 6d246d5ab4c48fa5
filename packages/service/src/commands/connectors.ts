import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import type { RecorderOptions } from '../recorder/recorder.ts'
import { definitionOf } from '../venues/registry.ts'
import type { EmulatedAddresses } from './emulated.ts'

/** The connectors of all enabled venues, or of those that the emulator runs. */
export function toConnectors(
  config: Config,
  emulated: EmulatedAddresses | undefined,
): RecorderOptions['connectors'] {
  const speed = emulated === undefined ? 1 : config.emulator.speed
  const toEntry = (venue: VenueId): [VenueId, Create] => {
    const address = emulated?.[venue]
    const upstream = {
      config: config[venue],
      speed,
      ...(address === undefined ? {} : { emulated: address }),
    }
    return [venue, (context) => definitionOf(venue).createConnector(upstream, context)]
  }
  const enabled = VENUE_IDS.filter(
    (venue) => config[venue].enabled && (emulated === undefined || emulated[venue] !== undefined),
  )
  return Object.fromEntries(enabled.map(toEntry))
}

type Create = NonNullable<RecorderOptions['connectors'][VenueId]>
