import {
  toMicros,
  type BookChange,
  type BookSnapshot,
  type Level,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { ABSENT, BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { expect, it } from 'vitest'
import { createRandom } from '../lib/random.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { findJoin } from './find-join.ts'
import { createDataFolder, START_MS } from './scripted.testing.ts'

const SEEDS = process.env['PRIORBOOK_FULL'] === '1' ? 2_000 : 150
const INSTRUMENT = { venue: 'venueb', market: 'KXTOY-1', key: 'KXTOY-1' } as const
// Few levels and sizes: books are often in a state in which they were before, also within a millisecond.
const PRICES = [4000, 4100]
const SIZES = [0, 1, 2]
const SPACINGS_MS = [0, 0, 0, 1, 20, 400, 2_500, 9_000]

/** What the venue did: the time of every change, and its level. */
type Change = Level & { readonly at: number }

type Random = ReturnType<typeof createRandom>

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!
}

function createWorld(random: Random): Change[] {
  let at = START_MS * 1000
  const sizes = new Map<number, number>()
  return Array.from({ length: 80 }, () => {
    at += pick(random, SPACINGS_MS) * 1000
    const price = pick(random, PRICES) as PriceTicks
    const others = SIZES.filter((size) => size !== (sizes.get(price) ?? 0))
    const size = pick(random, others)
    sizes.set(price, size)
    return { at, price, size: (size * 1e6) as SizeUnits }
  })
}

function bidsAfter(world: readonly Change[], count: number): Level[] {
  const sizes = new Map<PriceTicks, SizeUnits>()
  for (const { price, size } of world.slice(0, count)) sizes.set(price, size)
  return [...sizes].flatMap(([price, size]) => (size === 0 ? [] : [{ price, size }]))
}

/** What a recorder heard: a full book after `from` changes, then the changes up to `to`. */
type Ear = {
  readonly from: number
  readonly to: number
  readonly lag: number
  readonly sid: number
}

/** The rows of a recorder, each with the number of changes that it contains. */
function hear(world: readonly Change[], { from, to, lag, sid }: Ear): Map<number, Observation> {
  const assembler = new BookAssembler(INSTRUMENT)
  const rows = new Map<number, Observation>()
  const opened = world[from]!.at
  const full: BookSnapshot = {
    kind: 'snapshot',
    instrument: INSTRUMENT,
    received: toMicros(opened + lag),
    journal: 1,
    bids: bidsAfter(world, from),
    asks: [],
  }
  rows.set(from, assembler.take(full, sid) as Observation)
  for (let at = from; at < to; at++) {
    const { at: made, price, size } = world[at]!
    const change: BookChange = {
      kind: 'change',
      instrument: INSTRUMENT,
      received: toMicros(made + lag),
      source: toMicros(made),
      journal: at + 2,
      signed: false,
      changes: [{ side: 'bid', price, size }],
    }
    rows.set(at + 1, assembler.take(change, sid) as Observation)
  }
  return rows
}

async function store(observations: readonly Observation[]): Promise<EmbeddedStore> {
  const opened = openEmbeddedStore({ file: createDataFolder().tape })
  const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await opened.append({ venue: 'venueb', position: 1_000, ...maker, observations })
  return opened
}

it('joins two tapes only where the second one has every change after the last of the first', async () => {
  let [found, asked] = [0, 0]
  for (let seed = 0; seed < SEEDS; seed++) {
    const random = createRandom(seed)
    const world = createWorld(random)
    const end = 30 + Math.floor(random() * 40)
    const lagOf = (): number => Math.floor((random() - 0.4) * 1_000_000)
    const [otherLag, ownLag] = [lagOf(), lagOf()]
    const others = hear(world, { from: Math.floor(random() * end), to: end, lag: otherLag, sid: 1 })
    const ownFrom = Math.floor(random() * 70)
    const own = hear(world, { from: ownFrom, to: world.length, lag: ownLag, sid: 2 })
    const last = [...others.values()].at(-1)!.received
    // The other recorder ended before it heard of the next change.
    const next = world[end]!.at + otherLag
    const complete = Math.max(last, Math.min(next - 1, last + Math.floor(random() * 8e6)))
    const [otherStore, ownStore] = [
      await store([...others.values()]),
      await store([...own.values()]),
    ]
    const join = await findJoin(otherStore, ownStore, INSTRUMENT, complete)
    const joined = join === undefined ? undefined : [...own.keys()][join.sequence - 1]
    expect({ seed, joined }).toEqual({ seed, joined: join === undefined ? undefined : end })
    expect([undefined, 2]).toContain(join?.mark.channel)
    if (join !== undefined) found++
    const isBusy =
      others.size > 1 && ownFrom < end && [...others.values()].at(-1)!.source !== ABSENT
    if (isBusy) asked++
    await otherStore.close()
    await ownStore.close()
  }
  console.log(`${found} joins of ${asked} that are possible`)
  expect(found).toBeGreaterThan(asked * 0.8)
}, 600_000)
