import { signal } from '@preact/signals'
import type { LiveMessage, LiveSubscription, PriorbookClient } from '@priorbook/sdk/client'
import { noteAnswer } from '../app/panel.ts'
import { pause, toTrouble, type Trouble } from '../app/trouble.ts'

/** How the newest books arrive: pushed over the socket, polled, or not at all. */
export type LinkState = 'connecting' | 'live' | 'polling' | 'refused'

// How long the page waits for a socket before it polls.
const PATIENCE_MS = 500
const POLL_MS = 1000
// Max time between two attempts to connect.
const RECONNECT_MS = 5000

/** What a live link calls. */
export type LiveLinkHandlers = {
  /** Called with every message of the socket. */
  readonly onMessage: (message: LiveMessage) => void
  /** Requests the newest books by REST. */
  readonly poll: (signal: AbortSignal) => Promise<void>
}

/** Follows markets over the socket. While there is none it polls every second and reconnects by itself. */
export class LiveLink {
  readonly state = signal<LinkState>('connecting')
  /** Why the server refused the subscription. */
  readonly trouble = signal<Trouble | undefined>(undefined)
  private readonly client: PriorbookClient
  private readonly subscriptions: readonly LiveSubscription[]
  private readonly handlers: LiveLinkHandlers
  private readonly stopping = new AbortController()
  private pollTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    client: PriorbookClient,
    subscriptions: readonly LiveSubscription[],
    handlers: LiveLinkHandlers,
  ) {
    this.client = client
    this.subscriptions = subscriptions
    this.handlers = handlers
    this.pollIn(PATIENCE_MS)
    void this.follow()
  }

  stop(): void {
    this.stopping.abort()
    clearTimeout(this.pollTimer)
  }

  private async follow(): Promise<void> {
    const { signal: stopped } = this.stopping
    const options = { signal: stopped, retry: { maxDelayMs: RECONNECT_MS } }
    while (!stopped.aborted) {
      try {
        for await (const message of this.client.live(this.subscriptions, options)) {
          this.receive(message)
        }
        return
      } catch (error) {
        if (stopped.aborted) return
        const trouble = toTrouble(error)
        if (/key|plan|unauth/.test(trouble.code)) {
          this.trouble.value = trouble
          this.state.value = 'refused'
          return
        }
        if (this.state.peek() === 'live') this.state.value = 'connecting'
        this.pollIn(0)
        await pause(RECONNECT_MS, stopped)
      }
    }
  }

  private receive(message: LiveMessage): void {
    if (message.type === 'welcome') {
      this.state.value = 'live'
      this.trouble.value = undefined
      clearTimeout(this.pollTimer)
      noteAnswer()
    } else if (message.type === 'disconnected') {
      this.state.value = 'connecting'
      this.pollIn(PATIENCE_MS)
    }
    this.handlers.onMessage(message)
  }

  private pollIn(ms: number): void {
    clearTimeout(this.pollTimer)
    this.pollTimer = setTimeout(() => void this.poll(), ms)
  }

  private async poll(): Promise<void> {
    const { signal: stopped } = this.stopping
    const state = this.state.peek()
    if (stopped.aborted || state === 'live' || state === 'refused') return
    try {
      await this.handlers.poll(stopped)
      if (!stopped.aborted && this.state.peek() === 'connecting') this.state.value = 'polling'
    } catch {
      // The server is away; the next poll finds out whether it is back.
    }
    if (!stopped.aborted) this.pollIn(POLL_MS)
  }
}
