/** The checks of prices that are counted by market and day. */
export const PARITY_CHECKS = [
  'sum_off',
  'complement_crossed',
  'locked',
  'off_tick',
  'out_of_bounds',
  'crossed',
] as const

/** The name of a check of prices. */
export type ParityCheck = (typeof PARITY_CHECKS)[number]
