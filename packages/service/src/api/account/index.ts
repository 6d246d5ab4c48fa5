import type { Route } from '../kit/route.ts'
import { healthRoute } from './health.ts'
import { limitsRoute } from './limits.ts'
import { PAGE_ROUTES } from './pages.ts'
import { statusRoute } from './status.ts'
import { usageRoute } from './usage.ts'
import { whoamiRoute } from './whoami.ts'

/** The routes of the account and of the service itself. */
export const ACCOUNT_ROUTES: readonly Route[] = [
  whoamiRoute,
  limitsRoute,
  usageRoute,
  statusRoute,
  healthRoute,
  ...PAGE_ROUTES,
]
