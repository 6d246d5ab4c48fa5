/** The three recorded venues, in the order of the interface document. */
export const VENUE_IDS = ['venuea', 'venueb', 'venuec'] as const

/** The name of a venue, as it stands in paths, row ids and tables. */
export type VenueId = (typeof VENUE_IDS)[number]

/** What a venue's numbers mean: served with every market as `units`. */
export type Units = {
  readonly priceUnit: string
  readonly sizeUnit: string
  readonly volumeUnit: string
  readonly collateral: string
}

/** Facts of a venue that its whole history shares. */
export type VenueFacts = {
  /** Decimals of a book price; a finer price is quarantined `unrepresentable`. */
  readonly priceDecimals: number
  /** Decimals of a size: contracts of B have 2, shares of C 6, shares of A up to 8. */
  readonly sizeDecimals: number
  readonly units: Units
}

/** The registry of venues; the compiler forces it to be complete. */
export const VENUES: Readonly<Record<VenueId, VenueFacts>> = {
  venuea: {
    priceDecimals: 4,
    sizeDecimals: 8,
    units: {
      priceUnit: 'USDT per share',
      sizeUnit: 'shares',
      volumeUnit: 'USDT',
      collateral: 'USDT',
    },
  },
  venueb: {
    priceDecimals: 4,
    sizeDecimals: 2,
    units: {
      priceUnit: 'USD per contract',
      sizeUnit: 'contracts',
      volumeUnit: 'contracts',
      collateral: 'USD',
    },
  },
  venuec: {
    priceDecimals: 4,
    sizeDecimals: 6,
    units: {
      priceUnit: 'USDC per share',
      sizeUnit: 'shares',
      volumeUnit: 'USDC',
      collateral: 'USDC',
    },
  },
}

/** True for the name of a recorded venue. */
export function isVenueId(value: unknown): value is VenueId {
  return VENUE_IDS.some((id) => id === value)
}
