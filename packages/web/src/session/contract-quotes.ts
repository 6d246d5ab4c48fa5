import { signal } from '@preact/signals'
import type { Panel } from '../app/panel.ts'
import { pause } from '../app/trouble.ts'
import { readQuote, settledNow, type ContractQuote } from './contract-instant.ts'

// How often the rows in view are read again.
const EVERY_MS = 5000

/** Keeps the net prices and edges of the contracts in view up to date, one after another. */
export class ContractQuotes {
  readonly quotes = signal<ReadonlyMap<string, Partial<ContractQuote>>>(new Map())
  private readonly panel: Panel
  private readonly shown = new Set<string>()
  private readonly stopping = new AbortController()
  private wake = (): void => undefined

  constructor(panel: Panel) {
    this.panel = panel
    void this.follow()
  }

  /** Follows a contract while its row is in view and it is open. */
  show(contractId: string, isShown: boolean): void {
    if (!isShown) {
      this.shown.delete(contractId)
      return
    }
    this.shown.add(contractId)
    if (!this.quotes.peek().has(contractId)) this.wake()
  }

  close(): void {
    this.stopping.abort()
    this.wake()
  }

  private async follow(): Promise<void> {
    const { signal: stopped } = this.stopping
    while (!stopped.aborted) {
      const woken = new Promise<void>((resolve) => (this.wake = resolve))
      if (!document.hidden) {
        for (const id of this.shown) await this.read(id)
      }
      await Promise.race([pause(EVERY_MS, stopped), woken])
    }
  }

  private async read(id: string): Promise<void> {
    const { signal: stopped } = this.stopping
    if (stopped.aborted) return
    try {
      const quote = await readQuote(this.panel, id, settledNow(), stopped)
      if (!stopped.aborted) this.quotes.value = new Map(this.quotes.peek()).set(id, quote)
    } catch {
      // The row keeps what it had; the next turn tries again.
    }
  }
}
