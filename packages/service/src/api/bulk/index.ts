import type { Route } from '../kit/route.ts'

/** The routes of this folder. */
export const BULK_ROUTES: readonly Route[] = []
