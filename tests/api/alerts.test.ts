import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { isFullRun } from '../../packages/sdk/src/domain/run-counts.testing.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { createService, freePort } from '../service-process.ts'
import { CrossingWriter, INSTRUMENT } from './crossing-writer.ts'

// The counts of the promise, and fewer for every day.
const EVENTS = isFullRun ? 1000 : 120
const RECEIVER_KILLS = isFullRun ? 20 : 4
const SERVICE_KILLS = isFullRun ? 4 : 1
// How many events may wait while more are caused.
const AHEAD = 10

/** A receiver that can be killed and started again on the same port. */
function createReceiver(port: number, file: string, secret: string) {
  let child: ChildProcess | undefined
  const script = join(import.meta.dirname, 'alert-receiver.ts')
  return {
    async start() {
      const started = spawn(process.execPath, [script, String(port), file, secret], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child = started
      await new Promise<void>((resolve, reject) => {
        started.stdout.once('data', () => resolve())
        started.once('exit', () => reject(new Error('the receiver ended')))
      })
    },
    async kill() {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null) return
      const closed = new Promise((resolve) => ending.once('close', resolve))
      ending.kill('SIGKILL')
      await closed
    },
  }
}

type Line = { what: 'accepted' | 'answered'; id: string; body: string; isSigned: boolean }

it(
  `delivers ${EVENTS} events once each, with the receiver killed ${RECEIVER_KILLS} times and the service ${SERVICE_KILLS} times`,
  async () => {
    const service = await createService(['--upstream', 'none', '--workers', '2'], undefined, {
      PRIORBOOK_ALERTS_ALLOW_NETWORKS: '127.0.0.0/8',
      PRIORBOOK_ALERTS_TIMEOUT_MS: '1500',
      PRIORBOOK_ALERTS_RETRY_MIN_MS: '20',
      PRIORBOOK_ALERTS_RETRY_MAX_MS: '200',
    })
    onTestFinished(() => service.destroy())
    const store = openEmbeddedStore({ file: join(service.data, 'tape.db') })
    onTestFinished(() => store.close())
    const writer = new CrossingWriter(store)
    await writer.begin()
    await service.start()
    const client = createClient({ url: service.url, key: service.keyOf('desk') })
    const port = await freePort()
    const created = await client.createAlert({
      kind: 'price',
      venue: 'venueb',
      market_id: INSTRUMENT.market,
      above: '0.5',
      webhook: `http://127.0.0.1:${port}/hook`,
    })
    const { alert_id: id, secret } = created.data
    const file = join(service.data, 'received.ndjson')
    const lines = (): Line[] => readLines(file)
    const receiver = createReceiver(port, file, secret)
    onTestFinished(() => receiver.kill())
    await receiver.start()
    const killReceiverAt = spread(RECEIVER_KILLS)
    const killServiceAt = spread(SERVICE_KILLS)
    for (let count = 0; writer.expected.length < EVENTS; count++) {
      await writer.cross()
      // Not far ahead, so that deliveries are on their way when something is killed.
      while (lines().length < writer.expected.length - AHEAD) await pause(5)
      if (killReceiverAt.has(count)) {
        await receiver.kill()
        await writer.cross()
        await receiver.start()
      }
      if (killServiceAt.has(count)) {
        await service.kill()
        // These are committed while nothing evaluates them.
        await writer.cross()
        await service.start()
      }
    }
    const { expected } = writer
    for (;;) {
      const { data } = await client.alert(id)
      if (data.delivered >= expected.length) break
      await pause(50)
    }
    const { data: alert } = await client.alert(id)
    const counts = { fired: expected.length, delivered: expected.length, pending: 0, dropped: 0 }
    expect(alert).toMatchObject(counts)
    const accepted = lines().filter(({ what }) => what === 'accepted')
    const byId = new Map(accepted.map((line) => [line.id, line.body]))
    // Every attempt of an id has the same body, and each is signed.
    expect(accepted.filter((line) => !line.isSigned || byId.get(line.id) !== line.body)).toEqual([])
    const events = [...byId.values()].map(
      (body) => JSON.parse(body) as { number: number; row_id: string },
    )
    // After removing repeated ids: nothing lost, nothing doubled, in order.
    expect(events.map(({ row_id }) => row_id)).toEqual(
      expected.map((sequence) => `venueb:${INSTRUMENT.key}:${sequence}`),
    )
    expect(events.map(({ number }) => number)).toEqual(expected.map((_, index) => index + 1))
    // An event whose answer went out comes again only where a side was killed before it was noted.
    expect(repeatedAfterAnswer(lines())).toBeLessThanOrEqual(SERVICE_KILLS + RECEIVER_KILLS)
  },
  isFullRun ? 1_800_000 : 600_000,
)

// The receiver may be writing: what follows the last end of a line is not yet a line.
function readLines(file: string): Line[] {
  if (!existsSync(file)) return []
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line) as Line)
}

function repeatedAfterAnswer(lines: readonly Line[]): number {
  const answered = new Set<string>()
  let repeated = 0
  for (const { what, id } of lines) {
    if (what === 'answered') answered.add(id)
    else if (answered.has(id)) repeated++
  }
  return repeated
}

// Places evenly among the crossings.
function spread(count: number): ReadonlySet<number> {
  return new Set(
    Array.from({ length: count }, (_, index) => Math.floor(((index + 0.5) * EVENTS) / count)),
  )
}
