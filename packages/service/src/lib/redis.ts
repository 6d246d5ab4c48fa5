import { createHash } from 'node:crypto'
import type { createClient } from '@redis/client'

const CONNECT_MS = 2_000
const RETRY_MS = 500
/** A request that counts waits no longer for the server. */
const ANSWER_MS = 250

type Client = ReturnType<typeof createClient>

/** A server that speaks the protocol of Redis. The connection comes back by itself. */
export class Redis {
  readonly #onTrouble: (why: string) => void
  readonly #opened: Promise<void>
  #client: Client | undefined
  #isClosed = false
  #isFailing = false

  /** `onTrouble` is called once each time that the server goes away. */
  constructor(address: string, onTrouble: (why: string) => void) {
    this.#onTrouble = onTrouble
    this.#opened = this.#open(address)
  }

  // The client is loaded only where there is a server: others need not have it in memory.
  async #open(address: string): Promise<void> {
    const { createClient: create } = await import('@redis/client')
    if (this.#isClosed) return
    const client = create({
      url: address,
      // While the server is away, a request fails at once: its caller has another way.
      disableOfflineQueue: true,
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: () => RETRY_MS },
    }) as Client
    this.#client = client
    client.on('error', (error: Error) => this.#tell(error))
    client.on('ready', () => (this.#isFailing = false))
    // It is tried again and again.
    client.connect().catch((error: Error) => this.#tell(error))
  }

  /** False while the server cannot be asked. */
  get isReady(): boolean {
    return this.#client?.isReady === true
  }

  /** Runs a script; its source is sent only where the server does not know it. */
  async run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const call = { keys: [...keys], arguments: [...values] }
    try {
      return await this.#answered(this.#client!.evalSha(script.hash, call))
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return await this.#answered(this.#client!.eval(script.source, call))
    }
  }

  // A server that is frozen keeps its connections open and says nothing.
  async #answered<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const why = `Redis did not answer within ${ANSWER_MS} ms`
      timer = setTimeout(() => reject(new Error(why)), ANSWER_MS)
    })
    try {
      return await Promise.race([answer, late])
    } finally {
      clearTimeout(timer)
      // Its end does not matter any more.
      answer.catch(() => undefined)
    }
  }

  /** Sends a message to all who follow a channel. It may be lost. */
  tell(channel: string, message: Buffer): void {
    if (this.isReady) this.#client!.publish(channel, message).catch(() => undefined)
  }

  /** Calls back with every message of a channel, until it is closed. Some may be lost, doubled or late. */
  follow(channel: string, onMessage: (message: Buffer) => void): Following {
    let follower: Client | undefined
    let isClosed = false
    const begin = async (): Promise<void> => {
      await this.#opened
      if (this.#client === undefined || isClosed) return
      // A connection that follows a channel can do nothing else.
      follower = this.#client.duplicate()
      follower.on('error', () => undefined)
      await follower.connect()
      await follower.subscribe(channel, (message) => onMessage(message), true)
    }
    begin().catch((error: Error) => this.#tell(error))
    return {
      get isReady() {
        return follower?.isReady === true
      },
      close() {
        isClosed = true
        if (follower?.isOpen === true) follower.destroy()
      },
    }
  }

  close(): void {
    this.#isClosed = true
    if (this.#client?.isOpen === true) this.#client.destroy()
  }

  #tell(error: Error): void {
    if (this.#isFailing) return
    this.#isFailing = true
    this.#onTrouble(`Redis does not answer: ${error.message || error.name}`)
  }
}

/** A channel that is followed. */
export type Following = {
  /** False while messages do not arrive. */
  readonly isReady: boolean
  close(): void
}

/** A script in Lua, and the name by which a server knows it. */
export type Script = { readonly source: string; readonly hash: string }

/** Names a script. */
export function toScript(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') }
}
