import { fork, type ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { sendToChild } from '../lib/send-to-child.ts'
import { siblingModule } from '../lib/sibling-module.ts'
import type { MadePack } from '../store/embedded/open.ts'
import type { PackerMessage, PackerOrder } from './packer-child.ts'

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const ENTRY = siblingModule('packer-child', import.meta.url)
const YOUNG_GENERATION = '--max-semi-space-size=4'
const RESTART_MS = 60_000

/**
 * Packs finished files of journals and old chunks of the tape until it is stopped, in a process of its own with the
 * lowest priority, so that a recorder on the same cores does not wait for it. A process that ends by itself is started
 * again. This process writes the tape: `replace` takes the packs that the other one made.
 */
export async function runPacker(
  order: PackerOrder,
  replace: (made: MadePack) => Promise<boolean>,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await runChild(order, replace, signal, log)
      if (!signal.aborted) log.warn({}, 'the process that packs old data ended: it starts again')
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      log.warn({ error: detail }, 'old data is not packed: it is tried again')
    }
    await pause(RESTART_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function runChild(
  order: PackerOrder,
  replace: (made: MadePack) => Promise<boolean>,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  const child = fork(ENTRY, [JSON.stringify(order)], {
    execArgv: [YOUNG_GENERATION],
    // Packs are bytes.
    serialization: 'advanced',
  })
  const ended = new Promise<void>((done, fail) => {
    child.once('exit', () => done())
    // Where it cannot even start, there is no exit.
    child.once('error', fail)
  })
  child.on('message', (message) => {
    const said = message as PackerMessage
    if (said.type === 'pack') void answer(child, replace, said.made, log)
    else tell(said, log)
  })
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  try {
    await ended
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

// The child waits for the answer, so there is one pack at a time.
async function answer(
  child: ChildProcess,
  replace: (made: MadePack) => Promise<boolean>,
  made: MadePack,
  log: Log,
): Promise<void> {
  let isReplaced = false
  try {
    isReplaced = await replace(made)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    log.warn({ error: detail }, 'a pack of old chunks was not stored: it is tried again')
  }
  sendToChild(child, { isReplaced })
}

function tell(message: Exclude<PackerMessage, { readonly type: 'pack' }>, log: Log): void {
  if (message.type === 'trouble') {
    log.warn({ error: message.error }, 'some old data is not packed: it is tried again')
  } else if (message.type === 'damaged') {
    log.warn({ file: message.file }, 'a damaged file of the journal stays as it is')
  } else {
    const { type, ...fields } = message
    const what = type === 'packed' ? 'finished files of the journal' : 'old chunks of the tape'
    log.info(fields, `${what} were packed`)
  }
}
