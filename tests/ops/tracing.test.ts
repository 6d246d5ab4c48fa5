import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { startServe, type ServeProcess } from '../../packages/service/src/commands/serve.testing.ts'
import {
  installOtlp,
  startOtlpReceiver,
  type OtlpReceiver,
  type ReceivedSpan,
} from './otlp-receiver.ts'
import { until } from './prometheus.ts'

const HOOK = pathToFileURL(join(import.meta.dirname, 'tell-tracing-packages.mjs')).href
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
// The kind of a span that answers a request.
const SERVER = 2

const home = mkdtempSync(join(tmpdir(), 'priorbook-tracing-'))
let receiver: OtlpReceiver

beforeAll(async () => {
  installOtlp()
  receiver = await startOtlpReceiver()
})
afterAll(() => {
  receiver?.close()
  rmSync(home, { recursive: true, force: true })
})

async function serve(name: string, env: Readonly<Record<string, string>>): Promise<ServeProcess> {
  const data = join(home, name)
  const served = await startServe(
    home,
    ['--upstream', 'emulator', '--workers', '1', '--data', data],
    {
      NODE_OPTIONS: `--import=${HOOK}`,
      ...env,
    },
  )
  onTestFinished(async () => void (await served.end()))
  await until(async () => (await fetch(`${served.url}/v3/health`)).ok)
  return served
}

/** The id of a market of which a book is stored. */
async function findMarket(url: string): Promise<string> {
  type Page = { readonly data?: readonly { readonly market_id: string }[] }
  const read = async (path: string): Promise<NonNullable<Page['data']>> =>
    ((await (await fetch(`${url}/v3/demo/venueb/${path}`)).json()) as Page).data ?? []
  let found: string | undefined
  await until(async () => {
    for (const { market_id: id } of await read('markets?limit=10')) {
      const [book] = await read(`${id}/snapshots?limit=1`)
      found ??= book?.market_id
    }
    return found !== undefined
  })
  return found!
}

it('sends requests with their reads, commits and polls to a collector', async () => {
  const served = await serve('traced', {
    PRIORBOOK_TRACING_EXPORT: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  expect(served.printed()).toContain('RESOLVED @opentelemetry/')
  const market = await findMarket(served.url)
  await fetch(`${served.url}/v3/demo/venueb/${market}/snapshots?limit=5`, {
    headers: { traceparent: `00-${TRACE}-${PARENT}-01` },
  })
  let spans: readonly ReceivedSpan[] = []
  const NAMES = ['recorder commit', 'upstream poll']
  await until(async () => {
    spans = await receiver.spans()
    const names = new Set(spans.map(({ name }) => name))
    return (
      spans.some(({ trace, kind }) => trace === TRACE && kind === SERVER) &&
      NAMES.every((name) => names.has(name))
    )
  })
  const request = spans.find(({ trace, kind }) => trace === TRACE && kind === SERVER)!
  expect(request).toMatchObject({
    name: 'HTTP venueb_snapshots',
    parent: PARENT,
    status: 0,
    attributes: {
      'http.route': { stringValue: 'venueb_snapshots' },
      'http.request.method': { stringValue: 'GET' },
      'http.response.status_code': { intValue: '200' },
      'priorbook.rows': { intValue: expect.stringMatching(/^[1-5]$/) },
    },
    resource: {
      'service.name': { stringValue: 'priorbook-api' },
      'deployment.environment.name': { stringValue: 'test' },
    },
  })
  expect(request.nanos).toBeGreaterThan(0)
  const reads = spans.filter(({ parent }) => parent === request.span)
  expect(reads.map(({ name }) => name)).toContain('store books')
  expect(new Set(reads.map(({ trace }) => trace))).toEqual(new Set([TRACE]))
  const commit = spans.find(({ name }) => name === 'recorder commit')!
  expect(commit.resource).toMatchObject({ 'service.name': { stringValue: 'priorbook-recorder' } })
  expect(commit.attributes).toHaveProperty(['priorbook.observations', 'intValue'])
  const poll = spans.find(({ name }) => name === 'upstream poll')!
  expect(poll.attributes['priorbook.venue']?.stringValue).toMatch(/^venue[abc]$/)
  expect(poll.attributes).toHaveProperty('priorbook.request')
})

it('loads nothing of OpenTelemetry unless it is asked to', async () => {
  const served = await serve('plain', {})
  await findMarket(served.url)
  expect(await served.end()).toBe(0)
  expect(served.printed()).not.toContain('RESOLVED')
})
