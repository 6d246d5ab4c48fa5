import { batch, computed, signal } from '@preact/signals'
import type { ContractWithTermsJson } from '@priorbook/sdk/client'
import { createPanel } from '../app/panel.ts'
import { pause, RETRY_MS, retryLoad, toTrouble, type Trouble } from '../app/trouble.ts'
import { isSize, type CompareView } from '../model/compare-view.ts'
import { microsOrAbsent, MINUTE, SECOND } from '../model/time.ts'
import { CompareHistory } from './compare-history.ts'
import { CompareReplayer } from './compare-replayer.ts'
import type { CompareTarget } from './compare-target.ts'
import { readInstant, settledNow, type ContractInstant } from './contract-instant.ts'
import type { LinkState } from './live-link.ts'
import type { Moment } from './market-session.ts'

// How often the record of the contract is read again, for its status and winners.
const RECORD_MS = 15_000
// What is shown of a contract whose window has not begun.
const AHEAD = 15 * MINUTE

/** How much a page reads. */
export type CompareScope = {
  /** Levels of each book. */
  readonly depth: number
  /** How often the present is read. */
  readonly everyMs: number
}

/** All members of a contract at one instant, of the present or the past, and their history. */
export class CompareSession implements CompareTarget {
  readonly contractId: string
  readonly panels = { contract: createPanel(), instant: createPanel() }
  readonly contract = signal<ContractWithTermsJson | undefined>(undefined)
  /** Everything that the page shows of one instant. */
  readonly shown = signal<ContractInstant | undefined>(undefined)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** Why the instant could not be read. */
  readonly instantTrouble = signal<Trouble | undefined>(undefined)
  /** The instant that is asked for; absent at the present. */
  readonly time = signal<number | undefined>(undefined)
  readonly side = signal<'buy' | 'sell'>('buy')
  readonly size = signal('')
  readonly isSeeking = signal(false)
  /** The wall clock, every second. */
  readonly wall = signal(Date.now() * 1000)
  readonly link = {
    state: signal<LinkState>('connecting'),
    trouble: signal<Trouble | undefined>(undefined),
  }
  readonly replayer: CompareReplayer
  readonly history: CompareHistory
  readonly stopping = new AbortController()
  private readonly scope: CompareScope
  private wanted: number | undefined
  private isRequesting = false
  private readonly ticking: ReturnType<typeof setInterval>

  readonly closes = computed(() => microsOrAbsent(this.contract.value?.closes))
  readonly isOpen = computed(() => {
    const { value: contract } = this.contract
    if (contract === undefined || contract.status === 'resolved') return false
    return (this.closes.value ?? Infinity) > this.wall.value
  })
  /** The newest instant that has been read: of an ended contract the last one before its close. */
  readonly present = signal(settledNow())
  readonly isLive = computed(() => this.time.value === undefined)
  readonly clock = computed(() => this.time.value ?? this.present.value)
  readonly throttledClock = this.clock
  readonly extent = computed(() => {
    const { value: contract } = this.contract
    if (contract === undefined) return undefined
    const opens = microsOrAbsent(contract.opens)
    const { value: present } = this.present
    const from = opens === undefined || opens >= present ? present - AHEAD : opens
    return { from, to: Math.max(present, from + SECOND) }
  })
  readonly moment = computed<Moment>(() => {
    if (this.replayer.isPlaying.value) return 'replay'
    if (!this.isLive.value) return 'past'
    return this.contract.value !== undefined && !this.isOpen.value ? 'ended' : 'now'
  })

  constructor(contractId: string, view: CompareView, scope: CompareScope) {
    this.contractId = contractId
    this.scope = scope
    this.time.value = view.time
    this.side.value = view.side
    this.size.value = view.size
    this.replayer = new CompareReplayer(this)
    this.history = new CompareHistory(this, view.range)
    this.ticking = setInterval(() => (this.wall.value = Date.now() * 1000), 1000)
    void this.load()
  }

  close(): void {
    this.stopping.abort()
    this.history.close()
    this.replayer.halt()
    clearInterval(this.ticking)
  }

  /** Shows an instant. While a request is running only the newest one is kept. */
  seek(time: number): void {
    this.replayer.halt()
    this.time.value = Math.round(time)
    this.request(Math.round(time))
  }

  goLive(): void {
    this.replayer.halt()
    this.time.value = undefined
    this.request(this.newest())
  }

  /** Asks for another way to trade at the same instant. */
  order(side: 'buy' | 'sell', size: string): void {
    batch(() => {
      this.side.value = side
      this.size.value = size
    })
    if (isSize(size)) this.request(this.shown.peek()?.at ?? this.clock.peek())
  }

  /** Reads everything of one instant. */
  read(at: number, signal: AbortSignal): Promise<ContractInstant> {
    const query = { at, depth: this.scope.depth, side: this.side.peek(), size: this.size.peek() }
    return readInstant(this.panels.instant, this.contractId, query, signal)
  }

  private async load(): Promise<void> {
    const { signal: stopped } = this.stopping
    const isLoaded = await retryLoad(
      () => this.loadRecord(),
      stopped,
      (trouble) => (this.trouble.value = trouble),
    )
    if (!isLoaded) return
    // Before the charts are drawn: those of an ended contract must not reach up to now.
    this.present.value = this.newest()
    this.request(this.clock.peek())
    await this.history.load()
    void this.followRecord()
    await this.follow()
  }

  private async loadRecord(): Promise<void> {
    const { client, note } = this.panels.contract
    note('contract', {}, this.contractId)
    const { data } = await client.contract(this.contractId, {}, { signal: this.stopping.signal })
    batch(() => {
      this.contract.value = data
      this.trouble.value = undefined
    })
  }

  private newest(): number {
    return Math.min(settledNow(), (this.closes.peek() ?? Infinity) - 1)
  }

  // Reads the present again at intervals, while the contract is open and the tab is visible.
  private async follow(): Promise<void> {
    const { signal: stopped } = this.stopping
    while (!stopped.aborted) {
      await pause(this.scope.everyMs, stopped)
      if (stopped.aborted) return
      if (document.hidden || this.replayer.isPlaying.peek()) continue
      const newest = this.newest()
      if (newest <= this.present.peek()) continue
      if (this.isLive.peek()) this.request(newest)
      else this.present.value = newest
      await this.history.extend(newest)
    }
  }

  private async followRecord(): Promise<void> {
    const { signal: stopped } = this.stopping
    while (!stopped.aborted && this.contract.peek()?.status !== 'resolved') {
      await pause(RECORD_MS, stopped)
      if (stopped.aborted || document.hidden) continue
      await this.loadRecord().catch(() => undefined)
    }
  }

  private request(at: number): void {
    this.wanted = at
    if (!this.isRequesting) void this.requestAll()
  }

  private async requestAll(): Promise<void> {
    const { signal: stopped } = this.stopping
    this.isRequesting = true
    this.isSeeking.value = true
    while (this.wanted !== undefined && !stopped.aborted) {
      const at = this.wanted
      this.wanted = undefined
      try {
        const instant = await this.read(at, stopped)
        if (!stopped.aborted && !this.replayer.isPlaying.peek()) this.put(instant)
      } catch (error) {
        if (stopped.aborted) break
        const trouble = toTrouble(error)
        batch(() => {
          this.instantTrouble.value = trouble
          this.link.state.value = 'connecting'
        })
        if (!trouble.isTemporary) continue
        await pause(RETRY_MS, stopped)
        this.wanted ??= at
      }
    }
    this.isRequesting = false
    this.isSeeking.value = false
  }

  /** Shows an instant that was read. */
  put(instant: ContractInstant): void {
    batch(() => {
      this.shown.value = instant
      this.instantTrouble.value = undefined
      this.link.state.value = 'polling'
      if (this.isLive.peek()) this.present.value = Math.max(this.present.peek(), instant.at)
    })
  }
}
