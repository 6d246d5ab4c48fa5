import { ACCOUNT_ROUTES } from './account/index.ts'
import { BOOK_ROUTES } from './books/index.ts'
import { BULK_ROUTES } from './bulk/index.ts'
import { CATALOGUE_ROUTES } from './catalogue/index.ts'
import type { Route } from './kit/route.ts'

/** Every route of the interface, in the order of the docs. */
export const ROUTES: readonly Route[] = [
  ...CATALOGUE_ROUTES,
  ...BOOK_ROUTES,
  ...BULK_ROUTES,
  ...ACCOUNT_ROUTES,
]
