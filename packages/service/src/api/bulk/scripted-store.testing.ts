import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  printScaled,
  VENUES,
  type Gap,
  type Instrument,
  type MarketRecord,
  type Micros,
} from '@priorbook/sdk/domain'
import type { Observation } from '@priorbook/sdk/tape'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { BEGIN, INSTRUMENTS, Script, createRecord } from '../../store/store-script.testing.ts'
import type { AppendBatch } from '../../store/store.ts'

/** One observation as it must come out, with decimals as text. */
export type PlainRow = {
  readonly id: string
  readonly market: string
  readonly received: number
  readonly sequence: number
  readonly bids: { readonly price: readonly string[]; readonly size: readonly string[] }
  readonly asks: { readonly price: readonly string[]; readonly size: readonly string[] }
}

/** A store with scripted rows of all venues, and what was put into it. */
export type ScriptedStore = {
  readonly store: EmbeddedStore
  /** Observations by instrument key. */
  readonly rows: ReadonlyMap<string, readonly PlainRow[]>
  readonly gaps: readonly Gap[]
  /** The received time after the last row. */
  readonly end: number
  close(): Promise<void>
}

/** The token under which samples of venue A are stored. */
const SAMPLE_TOKEN = '71321045679252212594626385532706912750'

/** Fills a store; the last batches stay unsealed. */
export async function openScriptedStore(seed: number, batches: number): Promise<ScriptedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-bulk-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const script = new Script(seed)
  const rows = new Map<string, PlainRow[]>()
  const gaps = new Map<string, Gap>()
  let end = BEGIN
  for (const [index, batch] of script.take(batches).entries()) {
    await store.append(adapt(batch, index === 0))
    for (const observation of batch.observations ?? []) {
      const { key } = observation.instrument
      const list = rows.get(key) ?? []
      rows.set(key, list)
      list.push(plainRow(observation, script.books.get(observation)!, list.length + 1))
      end = Math.max(end, observation.received + 1)
    }
    for (const gap of batch.gaps ?? []) gaps.set(`${gap.key}/${gap.start}/${gap.reason}`, gap)
    if (index === Math.floor(batches * 0.8)) await store.seal()
  }
  for (const [position, record] of RECORDS.entries()) {
    await store.append(describeMarket(record, position))
  }
  return {
    store,
    rows,
    gaps: [...gaps.values()],
    end,
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The markets of the script in the order of a download. */
export const RECORDS: readonly MarketRecord[] = [
  recordOf(INSTRUMENTS[0]!, { asset: 'BTC', window: '15m', topicId: 't1', conditionId: '0xaa' }),
  // It opens before the other one of its series, whose id is smaller.
  recordOf(INSTRUMENTS[2]!, { seriesTicker: 'KXALL', openTime: (BEGIN - 3.6e9) as Micros }),
  recordOf(INSTRUMENTS[1]!, { seriesTicker: 'KXALL', eventTicker: 'KXE' }),
  recordOf(INSTRUMENTS[3]!, { asset: 'BTC', window: '5m', conditionId: '0xc0ffee', eventId: '9' }),
]

function recordOf(instrument: Instrument, more: Partial<MarketRecord>): MarketRecord {
  // Hours pass between rows of the script: the markets stay open for all of them.
  return createRecord(instrument, '1', { closeTime: (BEGIN + 60 * 8.64e10) as Micros, ...more })
}

// Samples are stored by token; what the script says of markets is said once, at the end.
function adapt(batch: AppendBatch, isFirst: boolean): AppendBatch {
  const { revisions: _revisions, ...rest } = batch
  return {
    ...rest,
    samples: (batch.samples ?? []).map((sample) => ({
      ...sample,
      instrument: { ...sample.instrument, key: SAMPLE_TOKEN },
    })),
    ...(isFirst ? { gaps: [...(batch.gaps ?? []), OUTAGE] } : {}),
  }
}

/** A gap of a whole venue. */
export const OUTAGE: Gap = {
  venue: 'venueb',
  scope: 'venue',
  key: '',
  reason: 'recorder_down',
  start: (BEGIN + 1000) as Micros,
  end: (BEGIN + 2000) as Micros,
  afterSequence: 0,
  journal: 1,
}

function describeMarket(record: MarketRecord, index: number): AppendBatch {
  const position = 1_000_000 + index
  return {
    venue: record.venue,
    position,
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    revisions: [{ kind: 'market', received: BEGIN as Micros, journal: position, record }],
  }
}

function plainRow(
  observation: Observation,
  book: ReadonlyMap<number, number>,
  sequence: number,
): PlainRow {
  const { venue, key, market } = observation.instrument
  const { sizeDecimals } = VENUES[venue]
  const side = (wanted: 0 | 1): PlainRow['bids'] => {
    const levels = [...book].filter(([level, size]) => (level & 1) === wanted && size > 0)
    levels.sort(([a], [b]) => (wanted === 0 ? b - a : a - b))
    return {
      // The script draws prices in ten-thousandths.
      price: levels.map(([level]) => printScaled(level >> 1, 4)),
      size: levels.map(([, size]) => printScaled(size, sizeDecimals)),
    }
  }
  return {
    id: `${venue}:${key}:${sequence}`,
    market,
    received: observation.received,
    sequence,
    bids: side(0),
    asks: side(1),
  }
}
