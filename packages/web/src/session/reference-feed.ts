import { batch, effect, signal, type ReadonlySignal } from '@preact/signals'
import type { ReferencePriceJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { toSpan, type GapSpan } from '../model/gap.ts'
import { chooseInterval, INTERVAL_MICROS } from '../model/history.ts'
import type { Range } from '../model/range.ts'

/** Which prices are drawn: of one feed, in a span; it is read again while `isLive`. */
export type ReferenceQuery = {
  readonly asset: string
  readonly feed: string
  readonly range: Range
  readonly isLive: boolean
}

/** Prices of one feed in a span, sampled, with their gaps. */
export type ReferenceData = {
  readonly query: ReferenceQuery
  /** The length of the buckets that the prices were sampled in. */
  readonly step: number
  readonly rows: readonly ReferencePriceJson[]
  readonly gaps: readonly GapSpan[]
}

const LIVE_MS = 2000

/** Follows the reference prices that a query names, whenever it changes. */
export class ReferenceLoader {
  readonly panel = createPanel()
  readonly data = signal<ReferenceData | undefined>(undefined)
  readonly trouble = signal<Trouble | undefined>(undefined)
  private readonly query: ReadonlySignal<ReferenceQuery | undefined>
  private readonly dispose: () => void
  private loading = new AbortController()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(query: ReadonlySignal<ReferenceQuery | undefined>) {
    this.query = query
    let before = ''
    this.dispose = effect(() => {
      const { value } = query
      // The end of a live span moves by itself; its timer reads on.
      const name = value === undefined ? '' : nameOf(value)
      if (name === before) return
      before = name
      queueMicrotask(() => this.restart())
    })
  }

  close(): void {
    this.dispose()
    this.loading.abort()
    clearTimeout(this.timer)
  }

  private restart(): void {
    this.loading.abort()
    clearTimeout(this.timer)
    this.loading = new AbortController()
    const query = this.query.peek()
    if (query !== undefined) void this.load(this.loading.signal)
  }

  private async load(stopped: AbortSignal): Promise<void> {
    const query = this.query.peek()
    if (query === undefined) return
    const again = (ms: number): void => {
      this.timer = setTimeout(() => stopped.aborted || void this.load(stopped), ms)
    }
    try {
      const read = await this.read(query, stopped)
      if (stopped.aborted) return
      batch(() => {
        this.data.value = { query, ...read }
        this.trouble.value = undefined
      })
      if (query.isLive) again(LIVE_MS)
    } catch (error) {
      if (stopped.aborted) return
      const trouble = toTrouble(error)
      this.trouble.value = trouble
      if (trouble.isTemporary) again(RETRY_MS)
    }
  }

  private async read(
    { asset, feed, range, isLive }: ReferenceQuery,
    stopped: AbortSignal,
  ): Promise<Omit<ReferenceData, 'query'>> {
    const interval = chooseInterval(range.to - range.from)
    const step = INTERVAL_MICROS[interval]
    const params = {
      feed,
      interval,
      start_time: Math.floor(range.from / step) * step,
      end_time: Math.ceil((range.to + 1) / step) * step,
      limit: 1000,
    }
    const { client, note } = this.panel
    const read = async (query: Parameters<typeof client.referencePrices>[1]) => {
      note('referencePrices', query, asset)
      return client.referencePrices(asset, query, { signal: stopped }).page()
    }
    // The price that is valid where the span begins; a live one is read too often for it.
    const before = { feed, end_time: params.start_time, order: 'desc', limit: 1 } as const
    const first = isLive ? [] : (await read(before)).data
    const { data, meta } = await read(params)
    return { rows: [...first, ...data], gaps: (meta.gaps ?? []).map(toSpan), step }
  }
}

function nameOf({ asset, feed, range, isLive }: ReferenceQuery): string {
  return JSON.stringify([asset, feed, range.from, isLive || range.to])
}
