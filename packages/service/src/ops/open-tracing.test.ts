import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { openTracing } from './open-tracing.ts'

// The lowest id: a sampler that goes by ids takes it whatever its share is.
const TRACE = `${'0'.repeat(31)}1`

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Sends requests with a `traceparent`, and counts in the bytes of the collector how many were sampled. */
async function countSampled(
  sampler: string,
  share: string,
  flags: '00' | '01',
  requests: number,
): Promise<number> {
  const bodies: Buffer[] = []
  const collector = createServer((request, response) => {
    request.on('data', (part: Buffer) => bodies.push(part))
    request.on('end', () => response.writeHead(200).end())
  })
  await new Promise<void>((resolve) => {
    collector.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    collector.closeAllConnections()
    collector.close()
  })
  const { port } = collector.address() as AddressInfo
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  vi.stubEnv('OTEL_TRACES_SAMPLER', sampler)
  vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', share)
  const tracing = (await openTracing('api'))!
  for (let count = 0; count < requests; count++) {
    tracing.request({ traceparent: `00-${TRACE}-b7ad6b7169203331-${flags}` }, {}).end()
  }
  await tracing.close()
  const bytes = Buffer.concat(bodies).toString('latin1')
  return bytes.split(Buffer.from(TRACE, 'hex').toString('latin1')).length - 1
}

it.each([
  ['parentbased_always_off', '1', '01', 0],
  ['parentbased_always_on', '1', '00', 20],
  ['parentbased_always_on', '1', '01', 20],
  ['parentbased_traceidratio', '0', '01', 0],
  ['parentbased_traceidratio', '1', '00', 20],
] as const)('%s with %s samples requests of clients with flags %s: %i of 20', async (...given) => {
  const [sampler, share, flags, expected] = given
  expect(await countSampled(sampler, share, flags, 20)).toBe(expected)
})

it('a share is drawn by lot, whatever id a client chooses', async () => {
  const sampled = await countSampled('parentbased_traceidratio', '0.5', '01', 200)
  expect(sampled).toBeGreaterThan(0)
  expect(sampled).toBeLessThan(200)
})
