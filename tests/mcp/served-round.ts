import { rmSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import {
  after,
  createContractStore,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'

/** The markets of one BTC round on three venues, as `THREE_ROUNDS` scripts them. */
export const ROUND = {
  a: { venue: 'venuea', market_id: '8691520' },
  b: { venue: 'venueb', market_id: 'KXBTC15M-26NOV171245-45' },
  c: { venue: 'venuec', market_id: `0x${'c1'.repeat(32)}` },
} as const

/** Serves the round, two minutes after it began. */
export async function serveRound() {
  const store = await createContractStore()
  // Limits of plans need a clock that runs.
  const begun = performance.now()
  const now = () => after(120 + (performance.now() - begun) / 1000)
  const test = await createTestServer({ store, now })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  return { url, keyOf: test.keyOf, logs: test.logs }
}
