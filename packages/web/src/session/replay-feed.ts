import type { SocketReplayParams } from '@priorbook/sdk/client'
import type { Trouble } from '../app/trouble.ts'
import type { ReplayNews } from './replay-books.ts'

/** What the worker is asked to replay, and under which key. */
export type ReplayWish = { readonly key: string | undefined; readonly params: SocketReplayParams }

/** What the worker says. */
export type ReplayAnswer =
  | { readonly type: 'news'; readonly news: ReplayNews }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly trouble: Trouble }

/** Why a replay broke off. */
export class ReplayFailure extends Error {
  readonly trouble: Trouble

  constructor(trouble: Trouble) {
    super(trouble.text)
    this.name = 'ReplayFailure'
    this.trouble = trouble
  }
}

/**
 * Replays over the socket in a worker. Each turn of the loop asks for what changed since the turn before,
 * so that the page takes as many states as it draws and never more than one waits.
 */
export async function* openReplayFeed(
  wish: ReplayWish,
  signal: AbortSignal,
): AsyncGenerator<ReplayNews, void, undefined> {
  const { port1: port, port2: far } = new MessageChannel()
  const said: ReplayAnswer[] = []
  let wake: (() => void) | undefined
  const hear = (answer: ReplayAnswer): void => {
    said.push(answer)
    wake?.()
  }
  const stop = (): void => hear({ type: 'ended' })
  const fail = (): void => hear({ type: 'failed', trouble: NOT_LOADED })
  const worker = theWorker()
  worker.addEventListener('error', fail)
  signal.addEventListener('abort', stop, { once: true })
  port.addEventListener('message', ({ data }: MessageEvent<ReplayAnswer>) => hear(data))
  port.start()
  worker.postMessage(wish, [far])
  try {
    while (!signal.aborted) {
      port.postMessage('next')
      if (said.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      wake = undefined
      const answer = said.shift()!
      if (answer.type === 'ended') return
      if (answer.type === 'failed') throw new ReplayFailure(answer.trouble)
      yield answer.news
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
  text: 'A part of this page did not arrive. Reload the page.',
  isPassing: true,
}

let worker: Worker | undefined

// One for the page: a second replay begins without loading anything.
function theWorker(): Worker {
  if (worker !== undefined) return worker
  const made = new Worker(new URL('replay-worker.ts', import.meta.url), { type: 'module' })
  made.addEventListener('error', () => {
    made.terminate()
    if (worker === made) worker = undefined
  })
  return (worker = made)
}
