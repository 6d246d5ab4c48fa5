import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../config/index.ts'
import type { EmbeddedStore, KeptPlace, TapeTier } from '../store/embedded/open.ts'
import type { RemovalOrder } from '../store/embedded/retention.ts'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import { Keeper, type TierState } from './keeper.ts'
import { restAfterSurvey } from './tier-survey.ts'

const SECOND = 1_000_000
const NOW = Date.UTC(2026, 7, 11) * 1000

type Piece = { readonly received: number; readonly bytes: number }

/** A keeper of a tape of venue B, whose survey takes a step of some milliseconds for each piece. */
class Kept {
  readonly removed: { readonly tier: string; readonly before: number }[] = []
  steps = 0
  surveys = 0
  readonly keeper: Keeper
  readonly #pieces: readonly Piece[]
  readonly #stepMs: number

  constructor(
    limits: Readonly<Record<string, string>>,
    { pieces, stepMs, share }: { pieces: readonly Piece[]; stepMs: number; share?: number },
  ) {
    this.#pieces = pieces
    this.#stepMs = stepMs
    const given = Object.entries(limits).map(
      ([name, value]) => [`venueb.retention.${name}`, value] as const,
    )
    const own = {
      listKept: (_tier: TapeTier, { stream }: KeptPlace) => Promise.resolve(this.#step(stream)),
      removeSome: (tier: string, { before }: RemovalOrder) => {
        this.removed.push({ tier, before })
        return Promise.resolve({ chunks: 0, rows: 0, bytes: 0, next: undefined })
      },
      packBefore: () => Promise.resolve(),
    }
    this.keeper = new Keeper({
      store: own as unknown as EmbeddedStore,
      journalDir: createTempFolder(),
      config: loadConfig({ env: {}, given: new Map(given) }),
      now: () => NOW,
      ...(share !== undefined && { surveyShare: share }),
    })
  }

  async run(ms: number): Promise<TierState> {
    const stop = new AbortController()
    const trouble: object[] = []
    const log = { info: () => undefined, warn: (fields: object) => void trouble.push(fields) }
    const running = this.keeper.run(stop.signal, log)
    await delay(ms)
    const state = this.keeper.status().find(({ tier }) => tier === 'tape')!
    stop.abort()
    await running
    expect(trouble).toEqual([])
    return state
  }

  get cuts(): ReadonlySet<number> {
    return new Set(this.removed.flatMap(({ tier, before }) => (tier === 'tape' ? [before] : [])))
  }

  #step(stream: number): object {
    const until = performance.now() + this.#stepMs
    while (performance.now() < until);
    this.steps++
    const piece = this.#pieces[stream % this.#pieces.length]!
    const isLast = stream + 1 === this.#pieces.length
    if (isLast) this.surveys++
    const pieces = [{ venue: 'venueb', ...piece, stream, first: 0 }]
    return { pieces, next: isLast ? undefined : { stream: stream + 1, first: 0 } }
  }
}

const pieces = (count: number): Piece[] =>
  Array.from({ length: count }, (_, at) => ({ received: NOW - (count - at) * SECOND, bytes: 100 }))

describe.concurrent('a keeper beside a recorder', () => {
  it('removes by age at once, however long a survey takes, and says what was counted so far', async () => {
    const kept = new Kept({ tapeAge: '2s' }, { pieces: pieces(10_000), stepMs: 2 })
    const { keptBytes, removedRows } = await kept.run(1800)
    expect([...kept.cuts]).toEqual([NOW - 2 * SECOND])
    expect(kept.removed.filter(({ tier }) => tier === 'tape').length).toBeGreaterThanOrEqual(2)
    expect(removedRows).toBe(0)
    // 2 % of the time.
    expect(kept.steps).toBeLessThan(100)
    expect(keptBytes).toBeGreaterThan(0)
    expect(keptBytes).toBeLessThanOrEqual(kept.steps * 100)
  })

  it('does not survey again soon where no limit of bytes is near', async () => {
    const limits = { tapeAge: '2s', tapeBytes: '1MB' }
    const kept = new Kept(limits, { pieces: pieces(10), stepMs: 2, share: 0.1 })
    const state = await kept.run(2500)
    expect(kept.surveys).toBe(1)
    expect(state).toMatchObject({ keptBytes: 1000, oldest: NOW - 10 * SECOND })
    expect([...kept.cuts]).toEqual([NOW - 2 * SECOND])
  })

  it('surveys again and again where a limit of bytes is passed, and removes down to it at once', async () => {
    const limits = { tapeAge: '20s', tapeBytes: '1kB' }
    const kept = new Kept(limits, { pieces: pieces(40), stepMs: 0 })
    await kept.run(600)
    // Ten of them stay; the second pass by itself would be due after a second.
    expect([...kept.cuts]).toEqual([NOW - 20 * SECOND, NOW - 10 * SECOND])
    const near = new Kept({ ...limits, tapeAge: '10s' }, { pieces: pieces(10), stepMs: 0 })
    await near.run(1800)
    expect(near.surveys).toBeGreaterThanOrEqual(2)
    expect([...near.cuts]).toEqual([NOW - 10 * SECOND])
  })
})

describe('a pass by itself', () => {
  it('surveys first, and removes by age and by bytes, whichever is stricter', async () => {
    const kept = new Kept({ tapeAge: '30s', tapeBytes: '1kB' }, { pieces: pieces(40), stepMs: 0 })
    await kept.keeper.pass()
    expect(kept.surveys).toBe(1)
    expect([...kept.cuts]).toEqual([NOW - 10 * SECOND])
    expect(kept.keeper.status()).toMatchObject([{ tier: 'tape', keptBytes: 4000 }])
  })
})

describe('the rest after a survey', () => {
  it('is twenty times its length, an hour at most where bytes are limited, and none near a limit', () => {
    const far = { hasByteLimit: true, isNear: false }
    expect(restAfterSurvey(1000, far)).toBe(20_000)
    expect(restAfterSurvey(3_600_000, far)).toBe(3_600_000)
    expect(restAfterSurvey(36_000_000, { hasByteLimit: false, isNear: false })).toBe(86_400_000)
    expect(restAfterSurvey(36_000_000, { hasByteLimit: true, isNear: true })).toBe(0)
  })
})
