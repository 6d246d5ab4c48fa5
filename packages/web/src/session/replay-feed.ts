import type { SocketReplayParams } from '@priorbook/sdk/client'
import type { Trouble } from '../app/trouble.ts'
import type { ReplayChanges } from './replay-books.ts'

/** A request to the worker: what to replay, and with which key. */
export type ReplayRequest = {
  readonly key: string | undefined
  readonly params: SocketReplayParams
}

/** An answer of the worker. */
export type ReplayAnswer =
  | { readonly type: 'changes'; readonly changes: ReplayChanges }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly trouble: Trouble }

/** Why a replay failed. */
export class ReplayFailure extends Error {
  readonly trouble: Trouble

  constructor(trouble: Trouble) {
    super(trouble.text)
    this.name = 'ReplayFailure'
    this.trouble = trouble
  }
}

/**
 * Replays over the socket in a worker. Each iteration requests the changes since the one before, so the
 * page gets only as many states as it draws.
 */
export async function* openReplayFeed(
  request: ReplayRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplayChanges, void, undefined> {
  const { port1: port, port2: far } = new MessageChannel()
  const answers: ReplayAnswer[] = []
  let wake: (() => void) | undefined
  const receive = (answer: ReplayAnswer): void => {
    answers.push(answer)
    wake?.()
  }
  const stop = (): void => receive({ type: 'ended' })
  const fail = (): void => receive({ type: 'failed', trouble: NOT_LOADED })
  const worker = sharedWorker()
  worker.addEventListener('error', fail)
  signal.addEventListener('abort', stop, { once: true })
  port.addEventListener('message', ({ data }: MessageEvent<ReplayAnswer>) => receive(data))
  port.start()
  worker.postMessage(request, [far])
  try {
    while (!signal.aborted) {
      port.postMessage('next')
      if (answers.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      wake = undefined
      const answer = answers.shift()!
      if (answer.type === 'ended') return
      if (answer.type === 'failed') throw new ReplayFailure(answer.trouble)
      yield answer.changes
    }
  } finally {
    worker.removeEventListener('error', fail)
    signal.removeEventListener('abort', stop)
    port.postMessage('stop')
    port.close()
  }
}

const NOT_LOADED: Trouble = {
  code: 'network_failed',
  title: 'The replay could not be loaded',
  text: 'A part of this page could not be loaded. Reload the page.',
  isTemporary: true,
}

let worker: Worker | undefined

// One worker per page, so that a second replay starts without loading a script.
function sharedWorker(): Worker {
  if (worker !== undefined) return worker
  const made = new Worker(new URL('replay-worker.ts', import.meta.url), { type: 'module' })
  made.addEventListener('error', () => {
    made.terminate()
    if (worker === made) worker = undefined
  })
  return (worker = made)
}
