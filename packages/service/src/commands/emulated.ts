import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import type { RecorderOptions } from '../recorder/recorder.ts'
import { definitionOf } from '../venues/registry.ts'
import { refuseMixedVenues } from './upstream-addresses.ts'

/** The addresses and credentials of the emulated venues, named like a venue's settings. */
export type EmulatedAddresses = Readonly<Partial<Record<VenueId, Readonly<Record<string, string>>>>>

/** A running emulator, in a process of its own: it must not share a core with the recorder. */
export type Emulated = {
  readonly addresses: EmulatedAddresses
  /** Resolves when the emulator exits. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** Starts the emulator; it exits when this process exits, even after a crash. */
export async function startEmulated(options: Config['emulator']): Promise<Emulated> {
  const { resolve } = createRequire(import.meta.url)
  const bin = join(
    dirname(resolve('@priorbook/emulator/package.json')),
    'bin/priorbook-emulator.mjs',
  )
  const args = ['--json', '--until-stdin-ends']
  for (const name of ['seed', 'speed', 'changes'] as const) {
    args.push(`--${name}`, String(options[name]))
  }
  if (options.breadth !== '') args.push('--breadth', options.breadth)
  // In a process group of its own, so that Ctrl-C in a terminal does not stop it before the recorder.
  const child = spawn(process.execPath, [bin, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done())
  })
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([
    new Promise<string>((done) => {
      lines.once('line', done)
    }),
    ended.then(() => undefined),
  ])
  if (first === undefined) {
    throw new PriorbookError('upstream_failed', 'the emulator ended before it listened')
  }
  return {
    addresses: JSON.parse(first) as EmulatedAddresses,
    ended,
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}

/**
 * The connectors of all enabled venues, or of those that the emulator runs. Throws `invalid_config` where only some
 * addresses of the real venues were replaced by those of an emulator.
 */
export function toConnectors(
  config: Config,
  emulated: EmulatedAddresses | undefined,
): RecorderOptions['connectors'] {
  if (emulated === undefined) refuseMixedVenues(config)
  const speed = emulated === undefined ? 1 : config.emulator.speed
  const toEntry = (venue: VenueId): [VenueId, Create] => {
    const address = emulated?.[venue]
    const upstream = {
      config: config[venue],
      speed,
      ...(address === undefined ? {} : { emulated: address }),
    }
    return [venue, (context) => definitionOf(venue).createConnector(upstream, context)]
  }
  const enabled = VENUE_IDS.filter(
    (venue) => config[venue].enabled && (emulated === undefined || emulated[venue] !== undefined),
  )
  return Object.fromEntries(enabled.map(toEntry))
}

type Create = NonNullable<RecorderOptions['connectors'][VenueId]>
