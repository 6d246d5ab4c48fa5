import { Problem } from '@priorbook/sdk/wire'

// Max long answers of one client that a process makes at once, and max requests of it that wait for one.
const MAX_RUNNING = 4
const MAX_WAITING = 32
// Proxies and clients often give an answer up that has not begun within a minute.
const WAIT_MS = 50_000
const RETRY_SECONDS = 10

/** The long answers of one client. */
type Client = { running: number; readonly waiting: Set<() => void> }

/**
 * Bounds how many long answers, such as downloads, one client gets at once: each keeps buffers and takes its
 * slices of the processor until it ends. Its next ones wait, in order of arrival.
 */
export class LongAnswers {
  readonly #waitMs: number
  readonly #clients = new Map<string, Client>()

  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs
  }

  /** Waits until the client may have one more; the function that it gives ends that one. */
  async begin(name: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    let client = this.#clients.get(name)
    if (client === undefined) this.#clients.set(name, (client = { running: 0, waiting: new Set() }))
    if (client.running < MAX_RUNNING) client.running++
    else await waitFor(client, signal, this.#waitMs)
    return () => this.#end(name, client)
  }

  // Who waits first gets the place; it stays counted.
  #end(name: string, client: Client): void {
    const [next] = client.waiting
    if (next !== undefined) next()
    else if (--client.running === 0) this.#clients.delete(name)
  }
}

function waitFor({ waiting }: Client, signal: AbortSignal, waitMs: number): Promise<void> {
  if (waiting.size >= MAX_WAITING) throw tooMany()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      waiting.delete(start)
      signal.removeEventListener('abort', onGone)
      clearTimeout(timer)
    }
    const onGone = (): void => {
      stop()
      reject(signal.reason as Error)
    }
    const start = (): void => {
      stop()
      resolve()
    }
    const timer = setTimeout(() => {
      stop()
      reject(tooMany())
    }, waitMs)
    waiting.add(start)
    signal.addEventListener('abort', onGone)
  })
}

function tooMany(): Problem {
  return new Problem('busy', `${MAX_RUNNING} downloads of the client run, and more wait`, {
    retryAfter: RETRY_SECONDS,
    hint: `Start no more than ${MAX_RUNNING} downloads at once.`,
  })
}
