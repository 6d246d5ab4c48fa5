import type { AddressGuard } from './address-guard.ts'
import type { AlertStore, DueEvent } from './alert-store.ts'
import { sendWebhook } from './send-webhook.ts'

/** How events are delivered. */
export type DeliveryOptions = {
  readonly alerts: AlertStore
  readonly guard: AddressGuard
  /** How long a receiver may take to answer. */
  readonly timeoutMs: number
  /** The pause after the first failed attempt; it doubles up to the other one. */
  readonly retryMinMs: number
  readonly retryMaxMs: number
  /** How long an event is tried before it is given up. */
  readonly giveUpMs: number
  /** Called with errors of the file; the event stays due and is tried again. */
  onError(error: unknown): void
}

// Max deliveries at the same time, each of another rule, and of one key: slow receivers hold up their owner alone.
const MAX_IN_FLIGHT = 32
const MAX_OF_KEY = 4
// How soon it looks again after nothing was due.
const LOOK_MS = 100

/**
 * Sends waiting events: those of a rule one after the other, so that a receiver sees them in order. An event is
 * sent until its receiver answers with 2xx, or until it is too old.
 */
export class Deliverer {
  readonly #options: DeliveryOptions
  readonly #inFlight = new Map<string, Promise<void>>()
  /** How many of them each key has. */
  readonly #ofKey = new Map<string, number>()
  #restsUntilMs = -Infinity

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** Starts to send what is due; `isAllowed` says whether the owner of a rule still may. */
  start(isAllowed: (ruleId: string) => boolean): void {
    const nowMs = performance.now()
    if (this.#inFlight.size >= MAX_IN_FLIGHT || nowMs < this.#restsUntilMs) return
    const due = this.#options.alerts.due(Date.now() * 1000)
    if (due.length === 0) this.#restsUntilMs = nowMs + LOOK_MS
    for (const event of due) {
      const { ruleId, keyId } = event
      if (this.#inFlight.size >= MAX_IN_FLIGHT) return
      if (this.#inFlight.has(ruleId) || !isAllowed(ruleId)) continue
      if ((this.#ofKey.get(keyId) ?? 0) >= MAX_OF_KEY) continue
      this.#count(keyId, 1)
      const sending = this.#send(event)
        .catch((error: unknown) => this.#options.onError(error))
        .finally(() => {
          this.#inFlight.delete(ruleId)
          this.#count(keyId, -1)
        })
      this.#inFlight.set(ruleId, sending)
    }
  }

  #count(keyId: string, more: 1 | -1): void {
    const count = (this.#ofKey.get(keyId) ?? 0) + more
    if (count === 0) this.#ofKey.delete(keyId)
    else this.#ofKey.set(keyId, count)
  }

  /** Waits for the deliveries that are on their way, so that their answers are not lost. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#inFlight.values())
  }

  async #send(event: DueEvent): Promise<void> {
    const { alerts, guard, timeoutMs, giveUpMs } = this.#options
    const attempt = { ...event, seconds: Math.floor(Date.now() / 1000) }
    const result = await sendWebhook(attempt, guard, timeoutMs)
    const { status } = result
    if (status !== undefined && status >= 200 && status < 300) {
      alerts.setDelivered(event, status)
      return
    }
    const error = status === undefined ? result.error : `the receiver answered ${status}`
    alerts.setFailed(event, { status, error }, (Date.now() + this.#pauseMs(event.attempts)) * 1000)
    const oldest = (Date.now() - giveUpMs) * 1000
    if (event.created < oldest) {
      alerts.dropOlder(event.ruleId, oldest, `not delivered within ${giveUpMs} ms: ${error}`)
    }
  }

  // Half of the pause is random, so that receivers that failed together are not tried together.
  #pauseMs(attempts: number): number {
    const { retryMinMs, retryMaxMs } = this.#options
    const pauseMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(attempts, 30))
    return Math.round(pauseMs / 2 + (Math.random() * pauseMs) / 2)
  }
}
