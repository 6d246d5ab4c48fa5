import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMicros, type Micros } from '../../packages/sdk/src/domain/index.ts'
import type { RouteExample } from '../../packages/sdk/src/wire/index.ts'
import { openAlerts } from '../../packages/service/src/alerts/alert-worker.ts'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { DATED, FIRST_ROWS, writeDated } from './dated-tape.ts'

const NOW = toMicros(Date.UTC(2026, 7, 12) * 1000)

// In place of the secret that was drawn, so that it looks like none that protects something.
const SECRET = `whsec_${Buffer.from('an example, not a real secret').toString('base64')}`

/** Examples of the routes of alerts, by their ids: a rule with a test event that waits for its delivery. */
export async function alertExamples(): Promise<Readonly<Record<string, RouteExample>>> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-examples-'))
  await writeDated(folder, FIRST_ROWS)
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const access = openAccess(folder)
  const now = (): Micros => NOW
  const delivery = { timeoutMs: 1000, retryMinMs: 1000, retryMaxMs: 1000, giveUpMs: 1000 }
  const file = join(folder, 'alerts.db')
  const alerts = openAlerts({ file, queue: 10, allowNetworks: [], ...delivery }, access, now)
  const server = createApiServer({ store, access, now, alerts: alerts.rules })
  const { ask, close } = createAsker(server.handle)
  const { key } = access.keys.create({ plan: 'unlimited', name: 'examples' })
  const rule = {
    kind: 'price',
    name: 'over early',
    venue: DATED.over.venue,
    market_id: DATED.over.market,
    above: '0.9',
    rearm: '0.05',
    webhook: 'https://example.org/hook',
  }
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(rule)
  const created = (await ask('/v3/alerts', { key, method: 'POST', headers, body })).json()
  const data = created['data'] as { alert_id: string }
  const { alert_id: id } = data
  const tested = (await ask(`/v3/alerts/${id}/deliveries`, { key, method: 'POST' })).json()
  const read = async (path: string) => (await ask(path, { key })).json()
  const examples = {
    alerts: { params: { limit: '1' }, body: await read('/v3/alerts?limit=1') },
    alert: { params: { alert_id: id }, body: await read(`/v3/alerts/${id}`) },
    alert_deliveries: {
      params: { alert_id: id, limit: '1' },
      body: await read(`/v3/alerts/${id}/deliveries?limit=1`),
    },
    alert_create: {
      params: {},
      request: rule,
      body: { ...created, data: { ...data, secret: SECRET } },
    },
    alert_test: { params: { alert_id: id }, body: tested },
    alert_delete: {
      params: { alert_id: id },
      body: (await ask(`/v3/alerts/${id}`, { key, method: 'DELETE' })).json(),
    },
  }
  close()
  await server.close(500)
  await alerts.stop()
  access.close()
  await store.close()
  rmSync(folder, { recursive: true })
  return examples
}
