import type { Route } from '../kit/route.ts'

/** The routes of this folder. */
export const ACCOUNT_ROUTES: readonly Route[] = []
