import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '@priorbook/sdk/wire'
import { Yielder } from '../lib/yielder.ts'
import type { AlertRules, ApiContext } from '../api/route.ts'
import { AddressGuard } from './address-guard.ts'
import { AlertStore } from './alert-store.ts'
import { Deliverer, type DeliveryOptions } from './deliverer.ts'
import { Evaluator } from './evaluator.ts'
import { grantsOf, nextEndOf, ownersOf, type KeySource } from './key-owners.ts'
import { newEvent } from './watch.ts'

/** Where alerts are kept and how they are delivered. */
export type AlertOptions = Omit<DeliveryOptions, 'alerts' | 'guard' | 'onError'> & {
  /** The file of rules and events. */
  readonly file: string
  /** Max events of a rule that wait. */
  readonly queue: number
  /** Networks beside the public ones to which webhooks may be sent. */
  readonly allowNetworks: readonly string[]
}

/** Alerts of a data folder: what routes use, and the work that one process does. */
export type Alerts = {
  readonly rules: AlertRules
  /** Evaluates and delivers until it is stopped, in one process at a time. */
  start(context: ApiContext, onError: (error: unknown, what: object) => void): void
  stop(): Promise<void>
}

// How often committed rows are looked for while there are rules, and rules while there are none.
const TICK_MS = 20
const IDLE_MS = 500
// A process that vanished is replaced after this long.
const LEASE_MS = 5000
const RENEW_MS = 1000
const PRUNE_MS = 60_000
// How often all rules are looked at, also where nothing says that they changed.
const LOOK_MS = 30_000
const KEPT_EVENTS = 1000
const KEPT_MICROS = 7 * 86_400_000_000
const ERROR_PAUSE_MS = 500

/** Opens the alerts of a data folder; several processes may share them. */
export function openAlerts(options: AlertOptions, source: KeySource, now: () => number): Alerts {
  const micros = now as () => ReturnType<ApiContext['now']>
  const alerts = new AlertStore(options.file, options.queue, micros)
  const guard = new AddressGuard(options.allowNetworks)
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  return {
    rules: toRules(alerts, guard, source, micros),
    start(context, onError) {
      const fail = (error: unknown): void => onError(error, { what: 'deliveries' })
      const delivery = { ...options, alerts, guard, onError: fail }
      const worker = new AlertWorker(delivery, source, context, onError)
      running = worker.run(stop.signal)
    },
    async stop() {
      stop.abort()
      await running
      alerts.close()
    },
  }
}

function toRules(
  alerts: AlertStore,
  guard: AddressGuard,
  source: KeySource,
  now: () => ReturnType<ApiContext['now']>,
): AlertRules {
  return {
    list: (keyId, after, limit) => alerts.rules(ownersOf(source, keyId), after, limit),
    find(keyId, id) {
      const alert = alerts.find(id)
      return alert !== undefined && ownersOf(source, keyId).includes(alert.keyId)
        ? alert
        : undefined
    },
    create: (keyId, rule, most) => alerts.add(keyId, ownersOf(source, keyId), rule, most),
    remove: (id) => alerts.remove(id),
    test(id) {
      const name = alerts.find(id)?.rule.name ?? null
      const time = new Date(now() / 1000).toISOString().replace('Z', '000Z')
      return alerts.addEvent(id, newEvent({ kind: 'test', name, time }))
    },
    deliveries: (id, before, limit) => alerts.deliveries(id, before, limit),
    checkWebhook(address) {
      const why = guard.refuse(address)
      if (why === undefined) return
      throw new Problem('invalid_parameter', `webhook ${why}`, { param: 'webhook' })
    },
  }
}

/** Evaluates and delivers while it holds the lease. */
class AlertWorker {
  readonly #options: DeliveryOptions
  readonly #source: KeySource
  readonly #context: ApiContext
  readonly #onError: (error: unknown, what: object) => void
  readonly #holder = randomUUID()
  readonly #deliverer: Deliverer
  readonly #yielder = new Yielder(true)
  #evaluator: Evaluator | undefined
  #revision = ''
  /** When a key ends by the clock, which changes no revision. */
  #nextEnd = Infinity
  #renewedMs = -Infinity
  #prunedMs = -Infinity

  constructor(
    options: DeliveryOptions,
    source: KeySource,
    context: ApiContext,
    onError: (error: unknown, what: object) => void,
  ) {
    this.#options = options
    this.#source = source
    this.#context = context
    this.#onError = onError
    this.#deliverer = new Deliverer(options)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseMs = IDLE_MS
      try {
        pauseMs = await this.#turn()
      } catch (error) {
        this.#onError(error, { what: 'alerts' })
        this.#abandon()
        pauseMs = ERROR_PAUSE_MS
      }
      await pause(pauseMs, undefined, { signal }).catch(() => undefined)
    }
    await this.#end()
  }

  async #turn(): Promise<number> {
    const { alerts } = this.#options
    if (alerts.count() === 0 || !this.#renew()) {
      this.#abandon()
      return IDLE_MS
    }
    this.#evaluator ??= this.#createEvaluator()
    // Before every evaluation: who lost a right gets no event of a later row.
    const revision = this.#currentRevision()
    const now = this.#context.now()
    if (revision !== this.#revision || now >= this.#nextEnd) {
      const nextEnd = nextEndOf(this.#source, now)
      await this.#evaluator.load()
      this.#revision = revision
      this.#nextEnd = nextEnd
    }
    if (!(await this.#evaluator.tick())) this.#abandon()
    this.#deliverer.start((ruleId) => this.#evaluator?.has(ruleId) === true)
    this.#prune()
    return TICK_MS
  }

  #createEvaluator(): Evaluator {
    this.#revision = ''
    return new Evaluator({
      context: this.#context,
      alerts: this.#options.alerts,
      holder: this.#holder,
      keep: async () => {
        await this.#yielder.yieldIfDue()
        return this.#renew()
      },
      grants: () => grantsOf(this.#source, this.#context.now()),
      onError: this.#onError,
    })
  }

  #abandon(): void {
    this.#evaluator?.abandon()
    this.#evaluator = undefined
  }

  // It also changes now and then by itself, so that a rule that failed is tried again.
  #currentRevision(): string {
    const minute = Math.floor(performance.now() / LOOK_MS)
    const { knownKeys, plans } = this.#source
    const access = `${knownKeys.revision()} ${plans.revision()}`
    return `${this.#options.alerts.revision()} ${access} ${minute}`
  }

  #renew(): boolean {
    const nowMs = performance.now()
    if (this.#evaluator !== undefined && nowMs - this.#renewedMs < RENEW_MS) return true
    this.#renewedMs = nowMs
    return this.#options.alerts.acquire(this.#holder, Date.now(), LEASE_MS)
  }

  #prune(): void {
    const nowMs = performance.now()
    if (nowMs - this.#prunedMs < PRUNE_MS) return
    this.#prunedMs = nowMs
    this.#options.alerts.prune(Date.now() * 1000 - KEPT_MICROS, KEPT_EVENTS)
  }

  async #end(): Promise<void> {
    try {
      this.#evaluator?.close()
      await this.#deliverer.settle()
      this.#options.alerts.release(this.#holder)
    } catch (error) {
      this.#onError(error, { what: 'alerts' })
    }
  }
}
