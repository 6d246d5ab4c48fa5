import type { Route } from '../kit/route.ts'

/** The routes of this folder. */
export const CATALOGUE_ROUTES: readonly Route[] = []
