import { toMicros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import type { CaptureNote, CaptureRequest } from '../capture/contract.ts'
import type { Rule } from '../capture/selection/rules.ts'
import { AT, MARKET_ID, pageObject, topicObject } from './fixtures.testing.ts'
import { Discovery, VenueAMarkets } from './markets.ts'
import { createVenueANormalizer } from './normalize.ts'
import { SelectedMarkets } from './selected-markets.ts'

const normalizer = createVenueANormalizer()
const ELECTION = 9_000_001
const election = topicObject(
  {
    marketTopicId: ELECTION,
    slug: 'who-wins',
    symbol: null,
    variantData: null,
    title: 'Who wins?',
  },
  { marketId: ELECTION + 1 },
)
const page = pageObject([topicObject(), election])

function selectionOf(rules: readonly Rule[], full = 10, pinned: readonly string[] = []) {
  return { rules, pinned, bounds: { full, polled: 10 }, booksPerMarket: 1 }
}

function select(rules: readonly Rule[], full?: number) {
  const notes: CaptureNote[] = []
  const followed = new Set<string>()
  const quiet = (): void => undefined
  const selected = new SelectedMarkets({
    selection: selectionOf(rules, full),
    sink: { now: () => toMicros(AT.received), note: (note) => void notes.push(note) },
    log: { info: quiet, warn: quiet, error: quiet },
    nowMs: () => AT.received / 1000,
    isFollowed: (marketId) => followed.has(marketId),
  })
  const tell = (request: CaptureRequest): CaptureRequest | undefined => selected.tell(request, page)
  return { selected, tell, notes, followed }
}

const kept = (request: CaptureRequest): string[] =>
  normalizer
    .answer(request, page, AT)
    .events.map((event) =>
      event.kind === 'market'
        ? `${event.record.marketId} ${event.record.category} ${event.record.capture?.tier}`
        : `${event.kind} of ${'instrument' in event ? event.instrument.market : ''}`,
    )

describe('rules of venue A', () => {
  it('that name assets alone follow rounds, and keep all that the list has', () => {
    const { selected } = select([{ asset: ['BTC', 'ETH'], tier: 'full' }])
    expect(selected.isBroad).toBe(false)
    expect(kept({ kind: 'topics', offset: 0 }).filter((one) => one.includes(' of '))).not.toEqual(
      [],
    )
    expect(selected.tierOf('anything')).toBe('full')
    for (const rules of [
      [{ tier: 'full' }],
      [{ asset: ['BTC'], tier: 'polled' }],
      [{ asset: ['BTC'], window: ['5m'], tier: 'full' }],
    ] as const satisfies readonly (readonly object[])[]) {
      expect(select(rules as unknown as Rule[]).selected.isBroad).toBe(true)
    }
  })

  it('decide by the category of the list, and the journal says so', () => {
    const { selected, tell } = select([{ category: ['politics'], tier: 'full' }, { tier: 'none' }])
    const request = tell({ kind: 'topics', offset: 0, category: 'Politics' })!
    expect(request).toMatchObject({ captured: [{ tier: 'full' }] })
    expect(kept(request).filter((one) => !one.includes(' of '))).toEqual([
      `${MARKET_ID} Politics full`,
      `${ELECTION + 1} Politics full`,
    ])
    expect(selected.tierOf(String(ELECTION + 1))).toBe('full')
    expect(
      select([{ category: ['politics'], tier: 'full' }]).tell({ kind: 'topics' }),
    ).toBeUndefined()
  })

  it('keep samples of markets with books alone', () => {
    const { tell } = select([{ asset: ['BTC'], tier: 'full' }, { tier: 'catalogue' }])
    const request = tell({ kind: 'topics', offset: 0, category: 'Mixed' })!
    const found = kept(request)
    expect(found).toContain(`${ELECTION + 1} Mixed catalogue`)
    expect(found).toContain(`sample of ${MARKET_ID}`)
    expect(found).not.toContain(`sample of ${ELECTION + 1}`)
  })

  it('move markets to another tier when there is no room, and say so', () => {
    const { selected, tell, notes, followed } = select([{ tier: 'full' }], 1)
    tell({ kind: 'topics', offset: 0 })
    for (const id of [MARKET_ID, ELECTION + 1]) followed.add(String(id))
    const tiers = [MARKET_ID, ELECTION + 1].map((id) => selected.tierOf(String(id)))
    expect(tiers.toSorted((a, b) => a.localeCompare(b))).toEqual(['full', 'polled'])
    selected.change(selectionOf([{ tier: 'catalogue' }]))
    expect(selected.review()).toEqual([])
    expect(notes).toMatchObject([{ note: 'tier', tier: 'catalogue' }])
  })
})

describe('discovery', () => {
  const markets = new VenueAMarkets({ isWanted: () => true, speed: 1 })
  const ok = (value: unknown) =>
    ({ ok: true, value, reading: { events: [], problems: [] } }) as const

  it('reads the rounds alone by default', () => {
    const discovery = new Discovery(markets, 1)
    const list = discovery.start()
    if (list === 'categories') throw new Error('categories')
    expect(list.filter.query).toEqual({ l1Category: 'crypto', l2Category: 'up-down' })
    expect(discovery.dueMs).toBeUndefined()
    discovery.applyPage(list, ok(pageObject([topicObject()], { hasMore: false })), 1000)
    expect([discovery.sweeps, discovery.dueMs]).toEqual([1, 31_000])
  })

  it('reads every category for other rules, and those of the venue again after a failure', () => {
    const discovery = new Discovery(markets, 1, true)
    expect(discovery.start()).toBe('categories')
    expect(discovery.applyCategories({ ok: false, why: 'x' }, 1000)).toBe(false)
    discovery.widen(true)
    expect(discovery.start()).toBe('categories')
    const categories = [
      { id: 'crypto', name: 'Crypto' },
      { id: 7, name: 'Politics' },
      { name: 'no id' },
    ]
    expect(discovery.applyCategories(ok({ categories }), 2000)).toBe(true)
    const seen: unknown[] = []
    while (discovery.sweeps === 0) {
      const list = discovery.start()
      if (list === 'categories') throw new Error('categories again')
      seen.push([list.filter.query, list.category])
      discovery.applyPage(list, ok(pageObject([], { hasMore: false })), 3000)
    }
    expect(seen).toEqual([
      [{ l1Category: 'crypto', l2Category: 'up-down' }, 'Crypto'],
      [{ l1Category: 'crypto' }, 'Crypto'],
      [{ l1Category: '7' }, 'Politics'],
    ])
    discovery.widen(false)
    expect(discovery.sweeps).toBe(1)
  })
})
