import { PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { isLoopback } from '../lib/loopback.ts'
import { definitionOf } from '../venues/registry.ts'

/**
 * Throws `invalid_config` where some addresses, by the names of their settings, are on this machine and others are
 * not: with the addresses of an emulator and one that was left out, a call would reach a real venue.
 */
export function refuseMixed(addresses: Readonly<Record<string, string>>): void {
  const names = Object.keys(addresses)
  const own = names.find((name) => isLoopback(addresses[name]!))
  const other = names.find((name) => !isLoopback(addresses[name]!))
  if (own === undefined || other === undefined) return
  const detail = `${own} is the loopback address ${addresses[own]}, but ${other} is ${addresses[other]}`
  throw new PriorbookError('invalid_config', `${detail}: set both to the same upstream`)
}

/** The same for all addresses that a recorder of the real venues would reach; venues that are off have none. */
export function refuseMixedVenues(config: Config): void {
  const addresses = VENUE_IDS.flatMap((venue) => {
    if (!config[venue].enabled) return []
    return Object.entries(definitionOf(venue).addressesOf(config[venue])).map(
      ([name, address]) => [`${venue}.${name}`, address] as const,
    )
  })
  refuseMixed(Object.fromEntries(addresses))
}
