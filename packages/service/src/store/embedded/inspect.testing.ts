import { isDeepStrictEqual } from 'node:util'
import {
  ERROR_CODES,
  PriorbookError,
  VENUE_IDS,
  type Gap,
  type Instrument,
} from '@priorbook/sdk/domain'
import { openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { MarketState, Order, Store } from '../store.ts'
import { INSTRUMENTS, START } from './tape-batches.testing.ts'
import { compareGaps, nameOfGap, type BookRows, type Oracle } from './tape-oracle.testing.ts'

/** How what a store answers differs from what it was given. */
export class Findings {
  /** Untrue answers and errors without a listed code: never allowed. */
  readonly wrong: string[] = []
  /** Rows that are neither handed out nor told to be missing: never allowed. */
  readonly lost: string[] = []
  /** Anything else that is missing without a word: allowed only if `verify` tells. */
  readonly silent: string[] = []
  /** Listed errors that came instead of an answer. */
  readonly errors: string[] = []
  /** Rows that were left out and covered by a gap `corrupt`, counted once a walk. */
  covered = 0
  corruptGaps = 0

  get isClean(): boolean {
    const { wrong, lost, silent, errors } = this
    return wrong.length + lost.length + silent.length + errors.length + this.corruptGaps === 0
  }
}

/** What `complaintsOf` gives for a store that answers as it should. */
export const NO_COMPLAINTS = { wrong: [], lost: [], silent: [], errors: [], corruptGaps: 0 }

/** What is wrong with the answers of a store. */
export function complaintsOf(findings: Findings): object {
  const { wrong, lost, silent, errors, corruptGaps } = findings
  return { wrong, lost, silent, errors, corruptGaps }
}

const PAGE = 900

/** Reads everything through the public interface and compares it with what was given. */
export async function inspectStore(
  store: Store,
  oracle: Oracle,
  random: () => number,
): Promise<Findings> {
  const inspector = new Inspector(store, oracle, random)
  await inspector.run()
  return inspector.findings
}

class Inspector {
  readonly findings = new Findings()
  private readonly store: Store
  private readonly oracle: Oracle
  private readonly random: () => number

  constructor(store: Store, oracle: Oracle, random: () => number) {
    this.store = store
    this.oracle = oracle
    this.random = random
  }

  async run(): Promise<void> {
    await this.checkPositions()
    for (const { instrument, rows } of this.oracle.books.values()) {
      await this.checkBooks(instrument, rows)
    }
    for (const { instrument, rows } of this.oracle.trades.values()) {
      for (const order of ['asc', 'desc'] as const) {
        const read = (after: number | undefined) =>
          this.store.trades({ ...instrument, order, limit: PAGE, ...cursor(after) })
        await this.walkRows(`trades of ${instrument.key} ${order}`, order, rows, read)
      }
    }
    for (const { instrument, metric, rows } of this.oracle.samples.values()) {
      for (const order of ['asc', 'desc'] as const) {
        const read = (after: number | undefined) =>
          this.store.samples({ ...instrument, metric, order, limit: PAGE, ...cursor(after) })
        await this.walkRows(`${metric} of ${instrument.key} ${order}`, order, rows, read)
      }
    }
    await this.checkNobody()
    await this.checkGaps()
    await this.checkMarkets()
    await this.checkQuarantine()
  }

  private async checkPositions(): Promise<void> {
    const { store, oracle, findings } = this
    for (const venue of VENUE_IDS) {
      await this.attempt(`position of ${venue}`, async () => {
        const position = await store.appliedPosition(venue)
        if (position !== (oracle.positions.get(venue) ?? 0)) {
          findings.wrong.push(`the position of ${venue} is ${position}`)
        }
      })
    }
    for (const [name, value] of oracle.facts) {
      await this.attempt(`fact ${name}`, async () => {
        if ((await store.fact(name)) !== value) findings.silent.push(`fact ${name}`)
      })
    }
  }

  private async checkBooks(instrument: Instrument, rows: BookRows): Promise<void> {
    const { store, findings } = this
    for (const order of ['asc', 'desc'] as const) {
      await this.walkBooks(instrument, rows, order, 0, Infinity)
      const [start, end] = [this.time(rows), this.time(rows)].sort((a, b) => a - b) as [
        number,
        number,
      ]
      await this.walkBooks(instrument, rows, order, start, end)
      await this.checkSampling(instrument, rows, order)
    }
    for (let times = 0; times < 12; times++) await this.checkAsOf(instrument, rows, times)
    await this.attempt(`latest of ${instrument.key}`, async () => {
      const run = await store.latest(instrument)
      if (run === undefined || run.firstSequence + run.to - 1 !== rows.count) {
        findings.lost.push(`latest of ${instrument.key}`)
      }
      if (run !== undefined) this.blame('latest', instrument, rows.wrongIn(run))
    })
    await this.checkFacts(instrument, rows)
    await this.attempt(`chunks of ${instrument.key}`, async () => {
      let count = 0
      for await (const chunk of store.chunks(instrument)) {
        if (chunk.kind !== 'book') continue
        // A chunk's own checksum reveals its damage to the reader.
        const { header } = openChunk(chunk.bytes, platform)
        if (header.first === chunk.first && header.count === chunk.count) count += chunk.count
      }
      const facts = await store.instrument(instrument)
      if (facts?.head !== undefined && count === 0) {
        findings.silent.push(`chunks of ${instrument.key}`)
      }
    })
  }

  // Every row of the range in the page's order, each exactly once.
  private async walkBooks(
    instrument: Instrument,
    rows: BookRows,
    order: Order,
    start: number,
    end: number,
  ): Promise<void> {
    const { store } = this
    const what = `books of ${instrument.key} ${order}`
    const from = rows.countBefore(start)
    const to = rows.countBefore(end)
    const range = end === Infinity ? {} : { start, end }
    const seen = new Seen(from + 1, to)
    const corrupt: Gap[] = []
    const done = await this.attempt(what, async () => {
      let after: number | undefined
      for (let pages = 0; ; pages++) {
        const query = { ...instrument, ...range, ...cursor(after), order, limit: PAGE }
        const page = await store.books(query)
        corrupt.push(...page.corrupt)
        for (const run of page.runs) {
          this.blame(what, instrument, rows.wrongIn(run))
          for (let row = run.from; row < run.to; row++) seen.add(run.firstSequence + row)
        }
        if (!page.hasMore) return
        if (page.count === 0 || pages > 1000) throw new Error('a walk that does not end')
        const first = page.runs[0]!
        const last = page.runs.at(-1)!
        after =
          order === 'asc' ? last.firstSequence + last.to - 1 : first.firstSequence + first.from
      }
    })
    this.judge(what, rows, seen, corrupt, done)
  }

  private async walkRows<Columns extends { readonly count: number }>(
    what: string,
    order: Order,
    rows: {
      readonly count: number
      readonly received: readonly number[]
      same(rows: Columns, row: number, ordinal: number): boolean
    },
    read: (after: number | undefined) => Promise<{
      readonly rows: Columns
      readonly ordinals: readonly number[]
      readonly hasMore: boolean
      readonly corrupt: readonly Gap[]
    }>,
  ): Promise<void> {
    const seen = new Seen(1, rows.count)
    const corrupt: Gap[] = []
    const done = await this.attempt(what, async () => {
      let after: number | undefined
      for (let pages = 0; ; pages++) {
        const page = await read(after)
        corrupt.push(...page.corrupt)
        for (const [row, ordinal] of page.ordinals.entries()) {
          if (!rows.same(page.rows, row, ordinal)) this.findings.wrong.push(`${what}: ${ordinal}`)
          seen.add(ordinal)
        }
        if (!page.hasMore) return
        if (page.ordinals.length === 0 || pages > 1000) {
          throw new Error('a walk that does not end')
        }
        after = order === 'asc' ? page.ordinals.at(-1)! : page.ordinals[0]!
      }
    })
    this.judge(what, rows, seen, corrupt, done)
  }

  private judge(
    what: string,
    rows: { readonly received: readonly number[] },
    seen: Seen,
    corrupt: readonly Gap[],
    done: boolean,
  ): void {
    const { findings } = this
    findings.corruptGaps += corrupt.length
    for (const ordinal of seen.twice) findings.wrong.push(`${what}: ${ordinal} twice or outside`)
    if (!done) return
    for (const ordinal of seen.missing()) {
      if (covers(corrupt, rows.received[ordinal - 1]!)) findings.covered++
      else findings.lost.push(`${what}: ${ordinal}`)
    }
  }

  private async checkSampling(instrument: Instrument, rows: BookRows, order: Order): Promise<void> {
    const { findings } = this
    const what = `buckets of ${instrument.key} ${order}`
    const interval = 29_000_000
    const end = rows.received.at(-1)! + interval
    // What each bucket should show: its last row.
    const wanted = new Map<number, number>()
    for (const [index, received] of rows.received.entries()) {
      wanted.set(Math.floor(received / interval) * interval, index + 1)
    }
    await this.attempt(what, async () => {
      const query = { ...instrument, start: START, end, interval, order, limit: 5000 }
      const page = await this.store.booksByInterval(query)
      findings.corruptGaps += page.corrupt.length
      const lostAfter = (sequence: number, last: number): boolean => {
        for (let index = sequence; index < last; index++) {
          if (!covers(page.corrupt, rows.received[index]!)) return true
        }
        return false
      }
      for (const { columns, row, sequence, bucket } of page.picks) {
        const run = { columns, firstSequence: sequence - row, from: row, to: row + 1 }
        this.blame(what, instrument, rows.wrongIn(run))
        const last = wanted.get(bucket!.start)
        wanted.delete(bucket!.start)
        if (last === undefined || sequence > last) findings.wrong.push(`${what}: ${sequence}`)
        else if (lostAfter(sequence, last)) findings.lost.push(`${what}: ${sequence + 1}–${last}`)
      }
      for (const last of wanted.values()) {
        if (lostAfter(last - 1, last)) findings.lost.push(`${what}: ${last}`)
      }
    })
  }

  private async checkAsOf(instrument: Instrument, rows: BookRows, times: number): Promise<void> {
    const { findings } = this
    // Instants of rows, instants between them, and one after the last.
    const last = rows.received.at(-1)!
    const exact = rows.received[Math.floor(this.random() * rows.count)]!
    const at = times === 0 ? last + 5 : times % 2 === 0 ? exact : this.time(rows)
    const what = `${instrument.key} as of ${at}`
    const keys = [instrument.key, instrument.market, '']
    const gaps = this.oracle.gaps.filter(
      (gap) => gap.venue === instrument.venue && keys.includes(gap.key) && gap.start < at,
    )
    const inside = gaps.filter((gap) => gap.end === undefined || at < gap.end)
    const sequence = rows.countBefore(at + 1)
    await this.attempt(what, async () => {
      const { run, gap } = await this.store.asOf({ ...instrument, at })
      if (gap?.reason === 'corrupt') {
        findings.corruptGaps++
        findings.covered++
        if (!covers([gap], at)) findings.wrong.push(`${what}: a gap elsewhere, ${gap.start}`)
      } else if (gap !== undefined) {
        const known = inside.some((one) => isDeepStrictEqual(one, gap))
        if (!known) findings.wrong.push(`${what}: a gap that is none`)
      } else if (run === undefined) {
        if (sequence > 0) findings.lost.push(what)
      } else {
        if (inside.length > 0) findings.wrong.push(`${what}: a book inside a gap`)
        if (run.firstSequence + run.to - 1 !== sequence)
          findings.wrong.push(`${what}: a stale book`)
        this.blame('as of', instrument, rows.wrongIn(run))
      }
    })
  }

  private async checkFacts(instrument: Instrument, rows: BookRows): Promise<void> {
    const { store, oracle, findings } = this
    const ends = {
      firstSequence: 1,
      lastSequence: rows.count,
      firstReceived: rows.received[0]!,
      lastReceived: rows.received.at(-1)!,
    }
    const differs = (facts: object | undefined): boolean => {
      const { head: _, ...rest } = { head: undefined, ...facts }
      return !isDeepStrictEqual(rest, { instrument, ...ends })
    }
    await this.attempt(`facts of ${instrument.key}`, async () => {
      if (differs(await store.instrument(instrument))) findings.silent.push('facts')
      const listed = await store.instruments(instrument.venue)
      const own = listed.find((facts) => facts.instrument.key === instrument.key)
      if (differs(own)) findings.silent.push('listed facts')
    })
    await this.attempt(`coverage of ${instrument.key}`, async () => {
      const coverage = await store.coverage(instrument)
      const corrupt = coverage?.gaps.filter((gap) => gap.reason === 'corrupt') ?? []
      findings.corruptGaps += corrupt.length
      if (corrupt.length > 0) return
      const { venue, key, market } = instrument
      const gaps = oracle.gaps.filter(
        (gap) => gap.venue === venue && [key, market, ''].includes(gap.key),
      )
      const listed = [...(coverage?.gaps ?? [])].sort(compareGaps)
      const observations = coverage?.days.reduce((sum, day) => sum + day.observations, 0)
      if (!isDeepStrictEqual(listed, gaps)) findings.silent.push('gaps of coverage')
      if (observations !== rows.count) findings.silent.push('observations of coverage')
    })
  }

  private async checkNobody(): Promise<void> {
    const { store, findings } = this
    const ref = { venue: 'venueb', key: 'NOBODY' } as const
    await this.attempt('nobody', async () => {
      const { count } = await store.books({ ...ref, order: 'asc', limit: 5 })
      if (count > 0 || (await store.market('venueb', 'NOBODY')) !== undefined) {
        findings.wrong.push('rows of nobody')
      }
    })
  }

  private async checkGaps(): Promise<void> {
    const { store, oracle } = this
    const known = new Map(oracle.gaps.map((gap) => [nameOfGap(gap), gap]))
    const check = async (what: string, read: () => Promise<readonly Gap[]>, wanted: Gap[]) => {
      await this.attempt(what, async () => {
        const gaps = await read()
        for (const gap of gaps) {
          if (!isDeepStrictEqual(gap, known.get(nameOfGap(gap)))) {
            this.findings.wrong.push(`${what}: ${nameOfGap(gap)}`)
          }
        }
        if (!isDeepStrictEqual(gaps, wanted)) this.findings.silent.push(what)
      })
    }
    await check('gaps', () => store.gaps({}), oracle.gaps)
    for (const instrument of Object.values(INSTRUMENTS).flat()) {
      const { venue, key } = instrument
      const own = oracle.gaps.filter((gap) => isOf(gap, instrument))
      await check(`gaps of ${key}`, () => store.gaps({ venue, key }), own)
      const start = START + 10_000_000
      const end = START + 60_000_000
      const touching = own.filter((gap) => gap.start < end && (gap.end ?? Infinity) > start)
      await check(`ranged gaps of ${key}`, () => store.gaps({ venue, key, start, end }), touching)
    }
  }

  private async checkMarkets(): Promise<void> {
    const { store, oracle, findings } = this
    await this.attempt('markets', async () => {
      const { markets } = await store.markets({ limit: 1000 })
      const newest = [...oracle.revisions.values()].map((states) => states.at(-1)!)
      for (const { sortTime: _, sortValue: __, ...state } of markets) {
        if (!this.isTrue(state)) findings.wrong.push(`market ${state.record.marketId}`)
        if (!newest.some((one) => isDeepStrictEqual(one, state))) findings.silent.push('markets')
      }
      if (markets.length !== newest.length) findings.silent.push('markets')
    })
    for (const states of oracle.revisions.values()) {
      const { venue, marketId } = states[0]!.record
      await this.attempt(`market ${marketId}`, async () => {
        const state = await store.market(venue, marketId)
        if (state !== undefined && !this.isTrue(state)) findings.wrong.push(`market ${marketId}`)
        if (!isDeepStrictEqual(state, states.at(-1))) findings.silent.push(`market ${marketId}`)
      })
      await this.attempt(`revisions of ${marketId}`, async () => {
        const listed = await store.revisions(venue, marketId, { limit: 100_000 })
        if (!listed.every((state) => this.isTrue(state))) findings.wrong.push('revisions')
        if (!isDeepStrictEqual(listed, states)) findings.silent.push(`revisions of ${marketId}`)
      })
      for (let times = 0; times < 4; times++) {
        const knownAt = states[Math.floor(this.random() * states.length)]!.knownAt + times
        await this.attempt(`market ${marketId} at ${knownAt}`, async () => {
          const wanted = states.findLast((state) => state.knownAt <= knownAt)
          const state = await store.market(venue, marketId, knownAt)
          if (!isDeepStrictEqual(state, wanted)) findings.wrong.push(`market at ${knownAt}`)
        })
      }
    }
  }

  private isTrue(state: MarketState): boolean {
    const { venue, marketId } = state.record
    const states = this.oracle.revisions.get(`${venue}:${marketId}`)
    return isDeepStrictEqual(state, states?.[state.revision - 1])
  }

  private async checkQuarantine(): Promise<void> {
    await this.attempt('quarantine', async () => {
      const listed = await this.store.quarantine({ limit: 100_000 })
      const wanted = this.oracle.quarantined.map((message, index) => ({
        ...message,
        id: index + 1,
      }))
      const plain = listed.map((message) => ({ ...message, raw: Uint8Array.from(message.raw) }))
      for (const message of plain) {
        const truth = wanted.find((one) => one.journal === message.journal)
        if (!isDeepStrictEqual({ ...message, id: 0 }, { ...truth, id: 0 })) {
          this.findings.wrong.push(`quarantined ${message.journal}`)
        }
      }
      if (!isDeepStrictEqual(plain, wanted)) this.findings.silent.push('quarantine')
    })
  }

  private time(rows: BookRows): number {
    const first = rows.received[0]!
    return first + Math.floor(this.random() * (rows.received.at(-1)! - first + 1))
  }

  private blame(what: string, instrument: Instrument, sequences: readonly number[]): void {
    for (const sequence of sequences) {
      this.findings.wrong.push(`${what}: ${instrument.key}:${sequence}`)
    }
  }

  // True when the look was finished; a listed error instead of an answer is honest.
  private async attempt(what: string, look: () => Promise<void>): Promise<boolean> {
    try {
      await look()
      return true
    } catch (error) {
      if (error instanceof PriorbookError && error.code in ERROR_CODES) {
        this.findings.errors.push(`${what}: ${error.code}`)
      } else
        this.findings.wrong.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
      return false
    }
  }
}

const platform = createNodePlatform()

/** Which ordinals of a range came, and which came twice or should not have come. */
class Seen {
  readonly twice: number[] = []
  private readonly first: number
  private readonly flags: Uint8Array

  constructor(first: number, last: number) {
    this.first = first
    this.flags = new Uint8Array(Math.max(0, last - first + 1))
  }

  add(ordinal: number): void {
    const at = ordinal - this.first
    if (at < 0 || at >= this.flags.length || this.flags[at] === 1) this.twice.push(ordinal)
    else this.flags[at] = 1
  }

  missing(): number[] {
    const ordinals: number[] = []
    for (const [at, flag] of this.flags.entries()) if (flag === 0) ordinals.push(this.first + at)
    return ordinals
  }
}

function cursor(after: number | undefined): { after?: number } {
  return after === undefined ? {} : { after }
}

function covers(gaps: readonly Gap[], received: number): boolean {
  return gaps.some((gap) => gap.start <= received && (gap.end === undefined || received < gap.end))
}

function isOf(gap: Gap, instrument: Instrument): boolean {
  return gap.venue === instrument.venue && gap.key === instrument.key
}
