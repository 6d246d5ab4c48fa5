import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createClient, type PriorbookClient } from '../../packages/sdk/src/client/index.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { createAuditor } from '../../packages/service/src/derive/audit.ts'
import type { DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { START_MS, type Script } from '../../packages/service/src/recorder/scripted.testing.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { runCommand } from '../sdk/run-command.ts'

const CHAINLINK = { slot: 248, topic: 'crypto_prices_chainlink' }
const EXCHANGE = { slot: 249, topic: 'crypto_prices' }
/** The oracle’s price at second 7. */
export const EXACT = '79697.575317474428059648'

/** Says one price of each feed a second, and loses one socket from 20 s to 30 s. */
export function playPrices(script: Script): void {
  for (const { slot } of [CHAINLINK, EXCHANGE]) {
    script.note({ note: 'connected', slot, url: 'ws://rtds' })
  }
  for (let second = 0; second < 60; second++) {
    const timestamp = START_MS + second * 1000 - 700
    if (second === 20) {
      const { slot } = CHAINLINK
      script.note({ note: 'loss', reason: 'disconnected', why: 'closed with code 1006', slot })
      script.note({ note: 'connected', slot, url: 'ws://rtds' })
    }
    if (second < 20 || second >= 30) {
      const full = second === 7 ? EXACT.replace('.', '') : undefined
      const value = second === 7 ? 79_697.575_317_474_43 : 64_000 + second
      const payload = { symbol: 'btc/usd', timestamp, value, full_accuracy_value: full }
      script.frame(CHAINLINK.slot, { topic: CHAINLINK.topic, type: 'update', payload })
    }
    const payload = { symbol: 'btcusdt', timestamp, value: 64_000.5 + second }
    script.frame(EXCHANGE.slot, { topic: EXCHANGE.topic, type: 'update', payload })
    if (second === 40) {
      const ether = { symbol: 'ethusdt', timestamp, value: 3400.25 }
      script.frame(EXCHANGE.slot, { topic: EXCHANGE.topic, type: 'update', payload: ether })
    }
    script.wait(1000)
  }
}

/** A second after the first price. */
export const at = (second: number): string => new Date(START_MS + second * 1000).toISOString()

/** Serves what a folder holds until the test ends: by client, plain requests and command line. */
export async function servePrices(data: DataFolder) {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-reference-'))
  const store = openEmbeddedStore({ file: data.tape, readOnly: true })
  const access = openAccess(home)
  const auditor = createAuditor(store, data.journal)
  const server = createApiServer({ store, access, auditor })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    await server.close(500)
    access.close()
    await store.close()
    rmSync(home, { recursive: true, force: true })
  })
  const keyOf = (plan: string): string => access.keys.create({ plan, name: 'reference' }).key
  const key = keyOf('unlimited')
  const clientOf = (plan: string): PriorbookClient => createClient({ url, key: keyOf(plan) })
  return {
    client: createClient({ url, key }),
    clientOf,
    get: (place: string) => fetch(url + place, { headers: { authorization: `Bearer ${key}` } }),
    cli: async (...args: readonly string[]): Promise<string> =>
      (await runCommand(args, { PRIORBOOK_URL: url, PRIORBOOK_KEY: key })).out,
  }
}
