import { PriorbookError, type GapReason, type Json, type MarketRecord } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../../lib/clock.ts'
import { sleep } from '../../../lib/wait.ts'
import type { CaptureLog, CaptureRequest, CaptureSink, StoredFeed } from '../../capture/contract.ts'
import { createQuota, type QuotaOptions } from '../../capture/quota.ts'
import { readCheckpoints, shortHash, withCheckpoint, type Checkpoint } from './checkpoints.ts'
import { ORDER_FILLED_TOPIC } from './order-filled.ts'
import { readFills, RecentTrades, type ReadFills } from './read-fills.ts'
import {
  CHAIN_AGAIN,
  CHAIN_BLOCK,
  CHAIN_LOGS,
  CHAIN_LOST,
  CHAIN_START,
  printCheckpoint,
  printLogs,
  printReorganized,
  type BlockRange,
  type NextCheckpoint,
  type Reorganized,
} from './requests.ts'
import { RpcClient, type RawAnswer, type RpcAnswer } from './rpc-client.ts'
import { printQuantity, readBlock, readQuantity, type ChainBlock } from './rpc-values.ts'
import { Tokens } from './tokens.ts'
import { ChainTrouble, toTrouble } from './trouble.ts'

/** How the chain is read. */
export type ChainOptions = {
  /** A JSON-RPC endpoint of BNB Smart Chain. */
  readonly url: string
  /** The exchange contracts whose filled orders are read. */
  readonly exchanges: readonly string[]
  /** How many blocks must follow a block before it is read. */
  readonly confirmations: number
  /** Max blocks per request. */
  readonly maxBlocks: number
  readonly callsPerMinute: number
  /** The decimals of collateral and shares. */
  readonly decimals: number
  /** The first block to read; 0 for the newest at the first start. */
  readonly startBlock: number
  readonly assets: readonly string[]
  /** Divides every internal period; 1 in production. */
  readonly speed: number
}

/** What the reader of the chain gets beside its options. */
export type ChainContext = {
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock?: Clock
  /** What earlier runs stored. */
  readonly feed?: StoredFeed
  /** True once the catalogue was read, so that tokens are known. */
  isCatalogueRead(): boolean
}

const CHAIN_ID = 56
const POLL_MS = 3_000
const OUTAGE_MS = 30_000
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
const MIN_PERIOD_MS = 250
/** Good answers after which a larger range is tried again. */
const GOOD_ANSWERS = 64
/** Refusals of a single block after which later ones are tried. */
const REFUSALS = 3

/**
 * Reads the filled orders of the exchange contracts block by block, in order and each once. Only blocks
 * with enough confirmations are read. A block that was read and later replaced is found by its hash; the
 * blocks from there on are read again, and a gap says which ones were replaced.
 */
export class ChainReader {
  readonly #options: ChainOptions
  readonly #context: ChainContext
  readonly #clock: Clock
  readonly #rpc: RpcClient
  readonly #tokens: Tokens
  readonly #trades = new RecentTrades()
  #checkpoints: readonly Checkpoint[]
  #blocks: number
  #good = 0
  #refusals = 0
  #isRightChain = false
  #areTokensLoaded = false
  #reorganized: Reorganized | undefined
  /** The newest block of the endpoint, and since when it is the newest. */
  #head = { block: 0, sinceMs: 0 }
  #failures = 0
  #failingSinceMs: number | undefined
  #isOutage = false
  #trouble: { readonly reason: GapReason; readonly why: string } = { reason: 'rejected', why: '' }

  constructor(options: ChainOptions, context: ChainContext) {
    const { url, callsPerMinute, maxBlocks, assets } = options
    const { sink, clock = SYSTEM_CLOCK, feed } = context
    this.#options = options
    this.#context = context
    this.#clock = clock
    const quota = createQuota(toWindow(callsPerMinute), clock)
    this.#rpc = new RpcClient({ url, quota, now: () => sink.now() })
    this.#tokens = new Tokens(assets)
    this.#checkpoints = readCheckpoints(feed?.facts ?? new Map<string, number>())
    this.#blocks = maxBlocks
  }

  /** The catalogue named a market. */
  addMarket(record: MarketRecord): void {
    this.#tokens.add(record)
  }

  /** How far it has come, or what keeps it from reading. */
  status(): { readonly isOutage: boolean; readonly detail: string } {
    const block = this.#newest?.block
    const detail = this.#isOutage
      ? `fills are not read: ${this.#trouble.why}`
      : block === undefined
        ? 'fills not read yet'
        : `fills up to block ${block}`
    return { isOutage: this.#isOutage, detail }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let waitMs = this.#periodMs(RETRY_MS)
      try {
        waitMs = await this.#step(signal)
        this.#succeeded()
      } catch (error) {
        if (signal.aborted) return
        waitMs = this.#failed(error)
      }
      if (waitMs > 0) await sleep(waitMs, signal, this.#clock)
    }
  }

  /** Reads one range; returns how long to wait before the next. */
  async #step(signal: AbortSignal): Promise<number> {
    const pollMs = this.#periodMs(POLL_MS)
    if (!this.#context.isCatalogueRead()) return pollMs
    await this.#loadTokens()
    await this.#checkChain(signal)
    const head = readQuantity(await this.#ask('eth_blockNumber', [], signal), 'the block number')
    this.#checkHead(head)
    const confirmed = head - this.#options.confirmations
    if (this.#newest === undefined) {
      await this.#start(confirmed, signal)
      return 0
    }
    if (await this.#readLate(signal)) return 0
    if (confirmed <= this.#newest.block) return pollMs
    await this.#checkBranch(signal)
    const from = this.#newest.block + 1
    const to = Math.min(from + this.#blocks - 1, confirmed)
    await this.#read({ from, to }, confirmed, signal)
    return this.#newest.block < confirmed ? 0 : pollMs
  }

  get #newest(): Checkpoint | undefined {
    return this.#checkpoints.at(-1)
  }

  /** Loads the tokens of markets of earlier runs, once. */
  async #loadTokens(): Promise<void> {
    if (this.#areTokensLoaded) return
    await this.#context.feed?.eachMarket((record) => this.#tokens.add(record))
    this.#areTokensLoaded = true
  }

  async #checkChain(signal: AbortSignal): Promise<void> {
    if (this.#isRightChain) return
    const id = readQuantity(await this.#ask('eth_chainId', [], signal), 'the chain id')
    if (id !== CHAIN_ID) {
      const why = `the endpoint is of chain ${id}, not of ${CHAIN_ID}`
      throw new ChainTrouble('venue_silent', { kind: 'chain_id' }, why)
    }
    this.#isRightChain = true
  }

  // An endpoint that stands still answers, but says nothing new.
  #checkHead(block: number): void {
    const nowMs = this.#nowMs()
    if (block > this.#head.block) this.#head = { block, sinceMs: nowMs }
    if (nowMs - this.#head.sinceMs < this.#periodMs(OUTAGE_MS)) return
    const why = `the endpoint has no block after ${this.#head.block}`
    throw new ChainTrouble('venue_silent', { kind: 'chain_head' }, why)
  }

  /** Reading begins after the newest confirmed block, or before the configured one. */
  async #start(confirmed: number, signal: AbortSignal): Promise<void> {
    const { startBlock } = this.#options
    const number = startBlock > 0 ? Math.min(startBlock - 1, confirmed) : confirmed
    const { block, raw } = await this.#block(number, signal)
    const next = { ordinal: 1, block: number, hash: shortHash(block.hash), time: block.time }
    const request = { kind: CHAIN_START, number, checkpoint: printCheckpoint(next) }
    this.#keep(request, raw, next)
    this.#context.log.info({ venue: 'venuea', block: number }, 'reading fills after this block')
  }

  /** Compares the newest block that was read with the chain; goes back where it was replaced. */
  async #checkBranch(signal: AbortSignal): Promise<void> {
    const newest = this.#newest!
    if (await this.#isOnChain(newest, signal)) return
    const known = this.#checkpoints
    let at = known.length - 1
    while (at > 0 && !(await this.#isOnChain(known[--at]!, signal)));
    const fork = known[at]!
    // Where no checkpoint is left on the chain, the oldest one is the earliest that can be named.
    const { block } = await this.#block(fork.block, signal)
    this.#checkpoints = [...known.slice(0, at), { ...fork, hash: shortHash(block.hash) }]
    // Nothing was read before the first checkpoint.
    if (fork === newest) return
    this.#trades.replace(fork.block + 1)
    this.#reorganized = {
      from: fork.block + 1,
      to: Math.max(newest.block, this.#reorganized?.to ?? 0),
      received: fork.received,
      sourceStart: fork.time,
      sourceEnd: Math.max(newest.time, this.#reorganized?.sourceEnd ?? 0),
      removed: [],
    }
    const fields = { venue: 'venuea', from: fork.block + 1, to: newest.block }
    this.#context.log.warn(fields, 'blocks were replaced after they had been read')
  }

  async #isOnChain({ block, hash }: Checkpoint, signal: AbortSignal): Promise<boolean> {
    if (hash === 0) return true
    const answer = readBlock(await this.#ask('eth_getBlockByNumber', blockParams(block), signal))
    // A node without the block cannot tell.
    return answer === undefined || shortHash(answer.hash) === hash
  }

  async #read(range: BlockRange, confirmed: number, signal: AbortSignal): Promise<void> {
    const last = await this.#block(range.to, signal)
    const answer = await this.#logs(range, signal)
    const request = { kind: CHAIN_LOGS, ...range }
    if (answer.type === 'failed') throw toTrouble(answer, request)
    if (answer.type === 'refused') {
      await this.#refused(range, answer, confirmed, signal)
      return
    }
    const fills = readFills(answer.result, range, (token, block) => this.#tokens.find(token, block))
    const times = await this.#timesOf(fills, last.block, signal)
    const next = {
      ordinal: this.#newest!.ordinal + 1,
      block: range.to,
      hash: shortHash(last.block.hash),
      time: last.block.time,
    }
    const removed = this.#trades.removedBy(fills, this.#reorganized)
    const moved = this.#trades.movedIn(fills)
    const { tokens } = fills
    this.#keep(
      {
        ...printLogs(CHAIN_LOGS, { ...range, ...this.#contract, tokens, times, moved }),
        checkpoint: printCheckpoint(next),
        ...(this.#reorganized === undefined
          ? {}
          : { reorganized: printReorganized({ ...this.#reorganized, removed }) }),
      },
      answer,
      next,
    )
    this.#trades.add(fills)
    this.#reorganized = undefined
    this.#refusals = 0
    if (++this.#good % GOOD_ANSWERS === 0) {
      this.#blocks = Math.min(this.#options.maxBlocks, this.#blocks * 2)
    }
  }

  /** Reads blocks again in which a token traded before its market was known; false where there are none. */
  async #readLate(signal: AbortSignal): Promise<boolean> {
    const { late } = this.#tokens
    if (late === undefined) return false
    const { token, place, from } = late
    const range = { from, to: Math.min(late.to, from + this.#blocks - 1) }
    const answer = await this.#logs(range, signal)
    const request = { kind: CHAIN_AGAIN, ...range }
    if (answer.type === 'failed') throw toTrouble(answer, request)
    if (answer.type === 'refused') {
      if (answer.isLimit) throw toTrouble(answer, request)
      if (range.to > from) this.#shrink(range)
      else {
        const { received } = this.#newest!
        this.#answer({ kind: CHAIN_LOST, ...range, received }, answer)
        this.#tokens.caughtUp(token, from)
      }
      return true
    }
    const fills = readFills(answer.result, range, (one) => (one === token ? place : undefined))
    const times = await this.#timesOf(fills, undefined, signal)
    const { tokens } = fills
    const moved = this.#trades.movedIn(fills)
    const context = { ...range, ...this.#contract, tokens, times, moved }
    this.#answer(printLogs(CHAIN_AGAIN, context), answer)
    this.#tokens.caughtUp(token, range.to)
    return true
  }

  /** The endpoint refused a range: a smaller one is tried, and blocks that it never has are given up. */
  async #refused(
    range: BlockRange,
    answer: Extract<RpcAnswer, { type: 'refused' }>,
    confirmed: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { from, to } = range
    const request = { kind: CHAIN_LOGS, from, to }
    if (answer.isLimit) throw toTrouble(answer, request)
    if (to > from) {
      this.#note(request, answer.message)
      this.#shrink(range)
      return
    }
    if (++this.#refusals < REFUSALS) throw toTrouble(answer, request)
    const readable = await this.#findReadable(from, confirmed, signal)
    if (readable === undefined) throw toTrouble(answer, request)
    const last = await this.#block(readable - 1, signal)
    const { ordinal, received, time } = this.#newest!
    const next = {
      ordinal: ordinal + 1,
      block: readable - 1,
      hash: shortHash(last.block.hash),
      time: last.block.time,
    }
    const bounds = { from, to: readable - 1, received, source_start: time }
    const lost = { kind: CHAIN_LOST, ...bounds, checkpoint: printCheckpoint(next) }
    this.#keep(lost, answer, next)
    this.#refusals = 0
    const fields = { venue: 'venuea', from, to: readable - 1, why: answer.message }
    this.#context.log.error(fields, 'fills of these blocks cannot be read')
  }

  /** The first block after a refused one that can be read: by doubling steps, then by halving. */
  async #findReadable(
    refused: number,
    confirmed: number,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    let low = refused
    let high = refused
    for (let step = 1; ; step *= 2) {
      if (low >= confirmed) return undefined
      high = Math.min(low + step, confirmed)
      if (await this.#canRead(high, signal)) break
      low = high
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (await this.#canRead(middle, signal)) high = middle
      else low = middle
    }
    return high
  }

  async #canRead(block: number, signal: AbortSignal): Promise<boolean> {
    const range = { from: block, to: block }
    const answer = await this.#logs(range, signal)
    if (answer.type === 'result') return true
    if (answer.type === 'failed' || answer.isLimit) {
      throw toTrouble(answer, { kind: CHAIN_LOGS, ...range })
    }
    return false
  }

  #shrink({ from, to }: BlockRange): void {
    this.#blocks = Math.max(1, Math.floor((to - from + 1) / 2))
    this.#good = 0
  }

  get #contract(): { readonly exchanges: readonly string[]; readonly decimals: number } {
    const { exchanges, decimals } = this.#options
    return { exchanges: exchanges.map((address) => address.toLowerCase()), decimals }
  }

  #logs({ from, to }: BlockRange, signal: AbortSignal): Promise<RpcAnswer> {
    const filter = {
      fromBlock: printQuantity(from),
      toBlock: printQuantity(to),
      address: this.#contract.exchanges,
      topics: [ORDER_FILLED_TOPIC],
    }
    return this.#rpc.call('eth_getLogs', [filter], signal)
  }

  /** The times of the blocks with fills; throws where an event is of another block than the chain has. */
  async #timesOf(
    fills: ReadFills,
    last: ChainBlock | undefined,
    signal: AbortSignal,
  ): Promise<Map<number, number>> {
    const times = new Map<number, number>()
    for (const [number, { hash, time }] of fills.blocks) {
      if (time !== undefined && number !== last?.number) {
        times.set(number, time)
        continue
      }
      const block = number === last?.number ? last : await this.#keepBlock(number, signal)
      if (block.hash !== hash) {
        const why = `block ${number} was replaced while it was read`
        throw new ChainTrouble('venue_silent', { kind: CHAIN_BLOCK, number }, why)
      }
      times.set(number, block.time)
    }
    return times
  }

  async #keepBlock(number: number, signal: AbortSignal): Promise<ChainBlock> {
    const { block, raw } = await this.#block(number, signal)
    this.#answer({ kind: CHAIN_BLOCK, number }, raw)
    return block
  }

  async #block(
    number: number,
    signal: AbortSignal,
  ): Promise<{ readonly block: ChainBlock; readonly raw: RawAnswer }> {
    const request = { kind: CHAIN_BLOCK, number }
    const answer = await this.#rpc.call('eth_getBlockByNumber', blockParams(number), signal)
    if (answer.type !== 'result') throw toTrouble(answer, request)
    const block = readBlock(answer.result)
    if (block?.number === number) return { block, raw: answer }
    const why = `the endpoint does not have block ${number}`
    throw new ChainTrouble('venue_silent', request, why)
  }

  async #ask(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const answer = await this.#rpc.call(method, params, signal)
    if (answer.type === 'result') return answer.result
    throw toTrouble(answer, { kind: 'chain_head', method })
  }

  /** Journals an answer that moves the position. */
  #keep(request: CaptureRequest, raw: RawAnswer, next: NextCheckpoint): void {
    const checkpoint = { ...next, received: raw.received }
    // The quota may have waited for most of an outage, without a further failure.
    this.#declareOutage()
    this.#answer(request, raw)
    this.#checkpoints = withCheckpoint(this.#checkpoints, checkpoint)
  }

  #answer(request: CaptureRequest, raw: RawAnswer): void {
    const { bytes, value, received } = raw
    const { error } = this.#context.sink.answer(request, received, bytes, value)
    if (error === undefined) return
    // Without space nothing was written: the position stays where it was.
    const reason = error.code === 'disk_full' ? 'disk_full' : 'rejected'
    throw new ChainTrouble(reason, request, error.message)
  }

  #succeeded(): void {
    if (this.#isOutage) this.#context.log.info({ venue: 'venuea' }, 'fills are read again')
    this.#failures = 0
    this.#failingSinceMs = undefined
    this.#isOutage = false
  }

  /** Notes a failure; an outage that lasts is a gap of trades. Returns how long to wait. */
  #failed(error: unknown): number {
    const { reason, request, message: why } = toChainTrouble(error)
    this.#failures++
    this.#failingSinceMs ??= this.#nowMs()
    this.#trouble = { reason, why }
    this.#note(request, why)
    this.#declareOutage()
    const growth = 2 ** Math.min(this.#failures - 1, 10)
    return Math.min(this.#periodMs(RETRY_MS) * growth, this.#periodMs(MAX_RETRY_MS))
  }

  #declareOutage(): void {
    const sinceMs = this.#failingSinceMs ?? Infinity
    if (this.#isOutage || this.#nowMs() - sinceMs < this.#periodMs(OUTAGE_MS)) return
    this.#isOutage = true
    const { reason, why } = this.#trouble
    this.#context.log.error({ venue: 'venuea', why }, 'fills cannot be read')
    if (this.#newest === undefined || reason === 'disk_full') return
    this.#context.sink.note({ note: 'feed_lost', reason, why })
  }

  #note(request: CaptureRequest, why: string): void {
    this.#context.sink.note({ note: 'failed', request, why })
  }

  #periodMs(ms: number): number {
    return Math.max(MIN_PERIOD_MS, ms / this.#options.speed)
  }

  #nowMs(): number {
    return this.#context.sink.steadyNow() / 1000
  }
}

// A tenth of a minute where that is possible: after a refusal the quota pauses for half a window.
function toWindow(callsPerMinute: number): QuotaOptions {
  const limit = Math.max(1, Math.floor(callsPerMinute / 10))
  return { limit, windowMs: (60_000 * limit) / callsPerMinute }
}

function blockParams(number: number): Json {
  return [printQuantity(number), false]
}

// An answer that cannot be read is trouble of the endpoint, and so is an unforeseen error: books are
// recorded whatever becomes of the chain.
function toChainTrouble(error: unknown): ChainTrouble {
  if (error instanceof ChainTrouble) return error
  const why = error instanceof Error ? error.message : String(error)
  const reason = error instanceof PriorbookError ? 'venue_silent' : 'rejected'
  return new ChainTrouble(reason, { kind: 'chain_head' }, why)
}
