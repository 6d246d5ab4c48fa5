import { fromMillis, PriorbookError, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import type { Quota, QuotaOptions } from '../capture/quota.ts'
import type { RestCall } from '../capture/rest.ts'
import { createVenueAApi, detailCall, isRefusal, listCall, toQuota, type VenueAApi } from './api.ts'
import { normalizeTopics } from './catalog.ts'
import { recordsOf } from './discovery.ts'
import { createPageWalk, readPage, type Page } from './pages.ts'
import { findOffset } from './seek.ts'

/** What is filled in, and how the venue is reached. */
export type BackfillOptions = {
  readonly restBase: string
  readonly apiKey: string
  readonly apiSecret: string
  /** The coin: BTC, ETH or BNB. */
  readonly asset: string
  /** Rounds that end in [start, end) are filled in; the floors are the caller's. */
  readonly start: Micros
  readonly end: Micros
  /** Where an earlier walk stopped: the oldest end that it reached. */
  readonly from?: Micros
  /** A quota instead of its limits is shared, with the connector for one. */
  readonly quota: QuotaOptions | Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** Divides every wait; 1 in production. */
  readonly speed?: number
}

/** How far a walk has come. */
export type BackfillProgress = {
  /** Rounds of the coin that were put through the sink. */
  readonly done: number
  /** Topics of the venue in all, of every coin, where it says so. */
  readonly total?: number
  /** The oldest end reached: everything of the coin from here to `end` has been asked for. */
  readonly reached: Micros
}

/**
 * Walks the catalogue backwards, the latest end first, and puts every answer through the sink: the
 * pages of the list, and the details of each round that the list shows without its resolution.
 * Ends at `start`, where the list ends, where the venue refuses the credentials or does not answer
 * a page in ten attempts; the last `reached` is where to go on.
 */
export async function* backfillVenueA(
  options: BackfillOptions,
  signal: AbortSignal,
): AsyncGenerator<BackfillProgress, void, void> {
  const { start, asset, log } = options
  const end = Math.min(options.end, options.from ?? options.end)
  const asker = createAsker(options, signal)
  const seen = new Set<string>()
  let oldest = end
  let reached = end
  const first = await findOffset(end / 1000, (offset) => asker.page(offset))
  if (first === undefined) return
  const walk = createPageWalk(start / 1000, first, Infinity)
  for (;;) {
    const page = await asker.page(walk.offset)
    if (page === undefined || signal.aborted) return
    for (const record of page.records) {
      const { marketId, topicId, closeTime, resolution } = record
      const isWanted = record.asset === asset && closeTime !== undefined && !seen.has(marketId)
      if (!isWanted || closeTime < start || closeTime >= options.end) continue
      seen.add(marketId)
      if (resolution?.state === 'final' || topicId === undefined) continue
      if (!(await asker.detail(topicId))) {
        if (asker.isRefused || signal.aborted) return
        log.warn({ venue: 'venuea', topicId }, 'the details of a round could not be had')
      }
    }
    const isOver = walk.take(page)
    oldest = Math.min(oldest, ...page.endsMs.map((endMs) => fromMillis(Math.floor(endMs))))
    // Where the venue does not keep to its order, newer rounds may still come on the next page.
    if (walk.isOrdered || isOver) reached = oldest
    yield {
      done: seen.size,
      ...(page.total === undefined ? {} : { total: page.total }),
      reached: Math.max(reached, start) as Micros,
    }
    if (isOver) return
  }
}

type ReadPage = Page & { readonly records: readonly MarketRecord[] }

/** Asks until there is an answer, within reason. */
interface Asker {
  readonly isRefused: boolean
  page(offset: number): Promise<ReadPage | undefined>
  detail(topicId: string): Promise<boolean>
}

const PAGE_ATTEMPTS = 10
const DETAIL_ATTEMPTS = 3
const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 30_000

function createAsker(options: BackfillOptions, signal: AbortSignal): Asker {
  const { apiKey, apiSecret, sink, log, speed = 1 } = options
  const quota = toQuota(options.quota, speed)
  const credentials = { apiKey, apiSecret }
  const api: VenueAApi = createVenueAApi({ ...options, credentials, quota, sink, log })
  let isRefused = false

  async function ask<T>(
    call: RestCall,
    attempts: number,
    read: (value: unknown) => T,
  ): Promise<T | undefined> {
    for (let attempt = 0; attempt < attempts && !signal.aborted; attempt++) {
      try {
        const answer = await api.ask(call, signal)
        if (isRefusal(answer)) {
          isRefused = true
          log.error({ venue: 'venuea' }, 'venue A refuses the credentials; the backfill stops')
          return undefined
        }
        if (answer.ok) return read(answer.value)
        log.warn({ venue: 'venuea', why: answer.why }, 'a call of the backfill failed')
      } catch (error) {
        if (signal.aborted) return undefined
        if (!(error instanceof PriorbookError)) throw error
        // What cannot be read is in the journal; another answer may be better.
        log.warn({ venue: 'venuea', why: error.message }, 'an answer could not be read')
      }
      await sleep(Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) / speed, signal)
    }
    return undefined
  }

  return {
    get isRefused() {
      return isRefused
    },
    page: (offset) =>
      ask(listCall(offset), PAGE_ATTEMPTS, (value) => {
        const answer = normalizeTopics(value, { received: sink.now(), journal: 0 })
        return { ...readPage(value), records: recordsOf(answer) }
      }),
    async detail(topicId) {
      const answered = await ask(detailCall(topicId), DETAIL_ATTEMPTS, () => true)
      return answered === true
    },
  }
}
