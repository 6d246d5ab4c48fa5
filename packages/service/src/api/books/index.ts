import type { Route } from '../kit/route.ts'

/** The routes of this folder. */
export const BOOK_ROUTES: readonly Route[] = []
