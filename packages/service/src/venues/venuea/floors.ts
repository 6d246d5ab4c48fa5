import { floorOf, type Micros } from '@priorbook/sdk/domain'

/** The coins whose up/down rounds venue A has. */
export const VENUEA_COINS = ['BTC', 'ETH', 'BNB'] as const

/** Since when catalogue, resolution, volume and liquidity of a coin are kept; absent for other coins. */
export function catalogueFloor(asset: string): Micros | undefined {
  return floorOf('venuea', 'catalogue', { asset })
}
