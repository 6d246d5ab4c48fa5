import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { startEmulator, type Emulator } from '../../packages/emulator/src/emulator.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { toLiveEnvironment } from '../capture/recorder-process.ts'
import { installPackages } from '../cluster/debian.ts'
import { until } from './prometheus.ts'

const BIN = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')

let home: string
// The folder that the first test fills.
let recorded: string
let emulator: Emulator

beforeAll(async () => {
  installPackages(['strace'], () => spawnSync('strace', ['--version']).status === 0)
  home = mkdtempSync(join(tmpdir(), 'priorbook-outbound-'))
  recorded = join(home, 'data')
  emulator = await startEmulator({ seed: 17 })
})
afterAll(async () => {
  await emulator?.close()
  rmSync(home, { recursive: true, force: true })
})

/** Runs `serve` under strace until `isDone`; the internet addresses to which any of its threads and processes connected. */
async function addressesOf(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  isDone: (printed: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const trace = join(home, 'trace')
  const options = ['-f', '-qq', '-o', trace, '-e', 'trace=connect,sendto,sendmsg,sendmmsg']
  const command = [process.execPath, BIN, 'serve', '--port', '0', '--ops-port', '0', ...args]
  // With a file for its output strace leaves signals to the program that it runs.
  const child = spawn('strace', [...options, ...command], {
    cwd: home,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let printed = ''
  child.stdout.on('data', (part) => (printed += String(part)))
  child.stderr.on('data', (part) => (printed += String(part)))
  const ended = new Promise((resolve) => child.once('close', resolve))
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  // Also where the test ran out of time: the group is no child of the runner's.
  onTestFinished(() => void (hasEnded() || process.kill(-child.pid!, 'SIGKILL')))
  await until(async () => hasEnded() || (await isDone(printed)))
  const isEarly = hasEnded()
  if (!isEarly) process.kill(-child.pid!, 'SIGTERM')
  await ended
  if (isEarly || child.exitCode !== 0) {
    throw new Error(`serve ended with ${child.exitCode ?? child.signalCode}:\n${printed}`)
  }
  return toAddresses(readFileSync(trace, 'utf8'))
}

/** The addresses in a trace; calls over a socket of this machine alone have none. */
function toAddresses(trace: string): readonly string[] {
  const found = new Set<string>()
  for (const line of trace.split('\n')) {
    const port = /sin6?_port=htons\((\d+)\)/.exec(line)?.[1]
    if (port === undefined) continue
    const host = /inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"/.exec(line)
    found.add(`${host?.[1] ?? host?.[2]}:${port}`)
  }
  return [...found].sort()
}

it('connects to the configured venues and to nothing else', async () => {
  const env = toLiveEnvironment(emulator.addresses, home)
  const hasRows = async (): Promise<boolean> => {
    const store = openEmbeddedStore({ file: join(recorded, 'tape.db'), readOnly: true })
    try {
      const stored = await store.instruments()
      return VENUE_IDS.every((id) =>
        stored.some((one) => one.instrument.venue === id && one.lastSequence > 5),
      )
    } finally {
      await store.close()
    }
  }
  const args = ['--upstream', 'live', '--data', recorded]
  const connected = await addressesOf(args, env, (printed) =>
    /^ {2}curl/m.test(printed) ? hasRows() : Promise.resolve(false),
  )
  const urls = JSON.stringify(emulator.addresses).matchAll(/(?:http|ws):\/\/([\d.]+:\d+)/g)
  const configured = new Set(Array.from(urls, ([, address]) => address!))
  expect(connected.filter((address) => !configured.has(address))).toEqual([])
  // Every venue is among them: the trace saw what the service does.
  expect(connected.length).toBeGreaterThanOrEqual(3)
})

it('connects to nothing where it records nothing', async () => {
  const args = ['--upstream', 'none', '--role', 'api', '--data', recorded]
  const connected = await addressesOf(args, {}, async (printed) => {
    const url = /(http:\/\/\S+)\/docs/.exec(printed)?.[1]
    return url !== undefined && (await fetch(`${url}/v3/status`)).status > 0
  })
  expect(connected).toEqual([])
})
