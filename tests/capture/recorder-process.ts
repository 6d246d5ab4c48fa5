import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import type { Addresses } from '../../packages/emulator/src/venues/registry.ts'
import type { ServiceStatus } from '../../packages/service/src/ops/status.ts'

const BIN = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')

/** One line of a recorder's log; pino's levels: 40 warns, 50 is an error. */
type LogLine = {
  readonly level: number
  readonly msg: string
  readonly time: number
  readonly [field: string]: unknown
}

/** A recorder as an operator runs it: `priorbook-server serve --role capture`, a process of its own. */
export interface RecorderProcess {
  /** The log so far. */
  readonly logs: readonly LogLine[]
  /** What came on standard error and is no line of the log: nothing, if all is well. */
  readonly noise: readonly string[]
  readonly pid: number
  /** The exit code; null after a signal, undefined while it runs. */
  readonly code: number | null | undefined
  status(): Promise<ServiceStatus>
  /** What its operators' port says at a path. */
  read(path: string): Promise<string>
  /** Sends a signal and gives the exit code; null when the signal ended it. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
  /** Resolves when it ended by itself. */
  readonly ended: Promise<number | null>
}

/** Starts a recorder of the real venues' interfaces; resolves when it is about to record. */
export async function startRecorderProcess(
  home: string,
  env: Readonly<Record<string, string>>,
  more: readonly string[] = ['--role', 'capture'],
): Promise<RecorderProcess> {
  mkdirSync(home, { recursive: true })
  const args = [BIN, 'serve', ...more, '--upstream', 'live', '--data', join(home, 'data')]
  // Not in the checkout, where a configuration file may lie, and with no variable of the caller's.
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: { ...cleanEnvironment(), PRIORBOOK_OPS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const logs: LogLine[] = []
  const noise: string[] = []
  let printed = ''
  let rest = ''
  let code: number | null | undefined
  const urlOf = (): string | undefined => [...printed.matchAll(/^status (\S+)\/ /gm)].at(-1)?.[1]
  const listening = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk
      if (urlOf() !== undefined) resolve()
    })
  })
  child.stderr.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('{')) logs.push(JSON.parse(line) as LogLine)
      else noise.push(line)
    }
  })
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (found) => {
      code = found
      resolve(found)
    })
  })
  await Promise.race([listening, ended])
  const read = async (path: string): Promise<string> => {
    try {
      return await getText(`${urlOf()}${path}`)
    } catch (cause) {
      const last = [...logs.map(({ msg }) => msg), ...noise].slice(-20).join('\n')
      const detail = `the recorder does not answer:\n${last}`
      throw new PriorbookError('upstream_failed', detail, { cause })
    }
  }
  return {
    logs,
    noise,
    ended,
    pid: child.pid!,
    get code() {
      return code
    },
    read,
    status: async () => JSON.parse(await read('/status')) as ServiceStatus,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/**
 * Reads an address over a connection of its own. A recorder may get the port of one that was killed, and a pool
 * would still hold connections to that one.
 */
async function getText(url: string): Promise<string> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false }, resolve).on('error', reject)
  })
  return text(answer)
}

/** The variables that make a recorder of real venues record an emulator, with its credentials. */
export function toLiveEnvironment(addresses: Addresses, home: string): Record<string, string> {
  const { venuea, venueb, venuec } = addresses
  const env = Object.fromEntries(
    VENUE_IDS.map((id) => [`PRIORBOOK_${id.toUpperCase()}_ENABLED`, String(id in addresses)]),
  )
  const put = (venue: string, values: Readonly<Record<string, string>> | undefined): void => {
    for (const [name, value] of Object.entries(values ?? {})) {
      env[`PRIORBOOK_${venue}_${name}`] = value
    }
  }
  mkdirSync(home, { recursive: true })
  put(
    'VENUEA',
    venuea && {
      REST: venuea.rest,
      WS: venuea.ws,
      API_KEY: venuea.apiKey,
      API_SECRET: venuea.apiSecret,
    },
  )
  put(
    'VENUEB',
    venueb && {
      REST: venueb.rest,
      WS: venueb.ws,
      KEY_ID: venueb.keyId,
      PRIVATE_KEY_FILE: writeKey(home, 'venueb.pem', venueb.privateKey),
    },
  )
  put(
    'VENUEC',
    venuec && {
      GAMMA: venuec.gamma,
      CLOB: venuec.clob,
      DATA: venuec.data,
      WS: venuec.ws,
      RTDS: venuec.rtds,
    },
  )
  return env
}

/** Writes a private key into a file and gives its path. */
export function writeKey(home: string, name: string, privateKey: string): string {
  const file = join(home, name)
  writeFileSync(file, privateKey, { mode: 0o600 })
  return file
}

/** Asks again and again until the answer is there; names what it waited for when it never comes. */
export async function until<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) {
      throw new PriorbookError('invalid_argument', `never came: ${what}`)
    }
    await pause(20)
  }
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PRIORBOOK_'))
  return Object.fromEntries(kept)
}
