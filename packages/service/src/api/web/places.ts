/** Addresses that are places of the explorer: all of them are the same page. */
export const EXPLORER_PLACES: readonly string[] = [
  '/',
  '/markets',
  '/market/:venue/*',
  '/coverage',
  '/status',
  '/key',
]
