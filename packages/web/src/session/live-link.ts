import { signal, type ReadonlySignal } from '@preact/signals'
import type { LiveMessage, LiveSubscription, PriorbookClient } from '@priorbook/sdk/client'
import { heardFromServer } from '../app/reach.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'

/** How the present arrives: pushed, asked for again and again, or not at all. */
export type LinkState = 'connecting' | 'live' | 'polling' | 'refused'

/** A running subscription. */
export type LiveLink = {
  readonly state: ReadonlySignal<LinkState>
  /** Why it is refused. */
  readonly trouble: ReadonlySignal<Trouble | undefined>
  stop(): void
}

// Half a second without a socket, and the newest books are asked for instead.
const PATIENCE_MS = 500
const POLL_MS = 1000
const AGAIN_MS = 5000

/**
 * Follows markets over the socket; while there is none, `poll` is called every second instead, and the
 * socket is tried again by itself.
 */
export function openLiveLink(
  client: PriorbookClient,
  subscriptions: readonly LiveSubscription[],
  hear: (message: LiveMessage) => void,
  poll: (signal: AbortSignal) => Promise<void>,
): LiveLink {
  const state = signal<LinkState>('connecting')
  const trouble = signal<Trouble | undefined>(undefined)
  const stop = new AbortController()
  const { signal: stopped } = stop
  let pollTimer: ReturnType<typeof setTimeout> | undefined

  const pollSoon = (ms: number): void => {
    clearTimeout(pollTimer)
    pollTimer = setTimeout(() => void pollOnce(), ms)
  }
  const pollOnce = async (): Promise<void> => {
    if (stopped.aborted || state.peek() === 'live' || state.peek() === 'refused') return
    try {
      await poll(stopped)
      if (!stopped.aborted && state.peek() === 'connecting') state.value = 'polling'
    } catch {
      // The server is away; the next turn tells whether it came back.
    }
    if (!stopped.aborted) pollSoon(POLL_MS)
  }
  const take = (message: LiveMessage): void => {
    if (message.type === 'welcome') {
      state.value = 'live'
      trouble.value = undefined
      clearTimeout(pollTimer)
      heardFromServer()
    } else if (message.type === 'disconnected') {
      state.value = 'connecting'
      pollSoon(PATIENCE_MS)
    }
    hear(message)
  }
  const follow = async (): Promise<void> => {
    while (!stopped.aborted) {
      try {
        for await (const message of client.live(subscriptions, {
          signal: stopped,
          retry: { maxDelayMs: AGAIN_MS },
        })) {
          take(message)
        }
        return
      } catch (error) {
        if (stopped.aborted) return
        const why = toTrouble(error)
        const isRefused = /key|plan|unauth/.test(why.code)
        if (isRefused) {
          trouble.value = why
          state.value = 'refused'
          return
        }
        if (state.peek() === 'live') state.value = 'connecting'
        pollSoon(0)
        await pause(AGAIN_MS, stopped)
      }
    }
  }
  pollSoon(PATIENCE_MS)
  void follow()
  return {
    state,
    trouble,
    stop() {
      stop.abort()
      clearTimeout(pollTimer)
    },
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
