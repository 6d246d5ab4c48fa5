import { fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { siblingModule } from '../lib/sibling-module.ts'
import type { PackerMessage } from './journal-packer-child.ts'

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const ENTRY = siblingModule('journal-packer-child', import.meta.url)
const YOUNG_GENERATION = '--max-semi-space-size=4'
const RESTART_MS = 60_000

/**
 * Packs the finished files of journals until it is stopped, in a process of its own with the lowest priority, so that a
 * recorder on the same cores does not wait for it. A process that ends by itself is started again.
 */
export async function packJournals(dir: string, signal: AbortSignal, log: Log): Promise<void> {
  while (!signal.aborted) {
    try {
      await runChild(dir, signal, log)
      if (!signal.aborted) log.warn({}, 'the process that packs journals ended: it starts again')
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      log.warn({ error: detail }, 'journals are not packed: it is tried again')
    }
    await pause(RESTART_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function runChild(dir: string, signal: AbortSignal, log: Log): Promise<void> {
  const child = fork(ENTRY, [dir], { execArgv: [YOUNG_GENERATION] })
  const ended = new Promise<void>((done, fail) => {
    child.once('exit', () => done())
    // Where it cannot even start, there is no exit.
    child.once('error', fail)
  })
  child.on('message', (message) => tell(message as PackerMessage, log))
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  try {
    await ended
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function tell(message: PackerMessage, log: Log): void {
  if (message.type === 'trouble') {
    log.warn({ error: message.error }, 'files of the journal are not packed: it is tried again')
  } else if (message.type === 'damaged') {
    log.warn({ file: message.file }, 'a damaged file of the journal stays as it is')
  } else {
    const { type: _, ...fields } = message
    log.info(fields, 'finished files of the journal were packed')
  }
}
