import { printMicros, toMicros } from '@priorbook/sdk/domain'
import { ReceiptCounts, withHeads, type InstrumentCount } from '../../rows/index.ts'
import type { StoreReader } from '../../store/store.ts'
import type { Notice } from '../route.ts'
import type { BulkScope } from './scope.ts'
import type { WalkItem } from './bulk-walk.ts'

/** What a file holds, so that its reader can check that nothing was lost on the way. */
export type FileReceipt = {
  readonly rows: number
  readonly markets: number
  readonly gaps: number
  /** Without `head`, which depends on when rows were sealed: the bytes of a final file must not. */
  readonly instruments: readonly InstrumentCount[]
  readonly first_received_time: string | null
  readonly last_received_time: string | null
  readonly range: { readonly start_time: string; readonly end_time: string }
  /** True when no row can be added to the range any more. */
  readonly is_final: boolean
  readonly notice?: readonly Notice[]
}

/** The rows of one stream that a file holds. */
export type StreamFacts = {
  readonly first: number
  readonly last: number
  readonly rows: number
  readonly firstReceived: number
  readonly lastReceived: number
}

/** Counts what goes into a file. */
export class Tally {
  private readonly scope: BulkScope
  private readonly counts = new ReceiptCounts()
  private markets = 0
  private firstReceived = Infinity
  private lastReceived = -1

  constructor(scope: BulkScope) {
    this.scope = scope
  }

  get rows(): number {
    return this.counts.rows
  }

  /** Counts an item of the walk. */
  add(item: WalkItem): void {
    switch (item.kind) {
      case 'market':
        this.markets++
        break
      case 'gap':
        this.counts.gaps++
        break
      case 'book':
        for (const { columns, firstSequence, from, to, lane } of item.pieces) {
          const key = item.contexts[lane]!.key
          this.counts.add(key, firstSequence + from, firstSequence + to - 1)
          this.stretch(columns.received[from]!, columns.received[to - 1]!)
        }
        break
      case 'trade':
      case 'sample':
      case 'history':
      case 'reference':
        for (const { columns, row, ordinal, lane } of item.rows) {
          this.counts.add(streamKey(this.scope, item.contexts[lane]!.key), ordinal, ordinal)
          this.stretch(columns.received[row]!, columns.received[row]!)
        }
        break
    }
  }

  /** Counts the rows of one stream at once. */
  addStream(key: string, facts: StreamFacts): void {
    const { first, last, rows, firstReceived, lastReceived } = facts
    this.counts.add(streamKey(this.scope, key), first, last, rows)
    this.stretch(firstReceived, lastReceived)
  }

  /** Ends the count; `more` explains why there are no rows. */
  finish(more: readonly Notice[] = []): FileReceipt {
    const { scope, counts } = this
    const { rows, gaps } = counts
    const print = (time: number): string => printMicros(toMicros(time))
    const notices = [...scope.notices, ...more]
    return {
      rows,
      markets: this.markets,
      gaps,
      instruments: counts.instruments(),
      first_received_time: rows === 0 ? null : print(this.firstReceived),
      last_received_time: rows === 0 ? null : print(this.lastReceived),
      range: { start_time: print(scope.start), end_time: print(scope.end) },
      is_final: scope.isFinal,
      ...(notices.length === 0 ? {} : { notice: notices }),
    }
  }

  private stretch(first: number, last: number): void {
    this.firstReceived = Math.min(this.firstReceived, first)
    this.lastReceived = Math.max(this.lastReceived, last)
  }
}

/** The instruments of a receipt, each with the hash of the newest sealed chunk that holds its rows. */
export async function headsOf(
  store: Pick<StoreReader, 'head'>,
  { venue, dataset, metric, knownAt }: BulkScope,
  instruments: readonly InstrumentCount[],
): Promise<(InstrumentCount & { readonly head: string | null })[]> {
  const kind = KINDS[dataset]
  const suffix = kind === 'book' ? 0 : (metric ?? kind).length + 1
  const stored = instruments.map((one) => ({
    ...one,
    key: one.key.slice(0, one.key.length - suffix),
  }))
  const heads = await withHeads(store, stored, { venue, kind, metric, knownAt })
  return heads.map(({ head }, index) => ({ ...instruments[index]!, head }))
}

/** The kind of stored rows of each dataset. */
export const KINDS = {
  books: 'book',
  trades: 'trade',
  samples: 'sample',
  history: 'sample',
  reference: 'sample',
} as const

// The part of row ids between venue and sequence.
function streamKey({ dataset, metric }: BulkScope, key: string): string {
  return dataset === 'books' ? key : `${key}/${metric ?? KINDS[dataset]}`
}
