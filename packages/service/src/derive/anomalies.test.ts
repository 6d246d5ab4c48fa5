import type { MarketStatus } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createTestCaller } from '../api/caller.testing.ts'
import { violations } from '../api/pages/schema.testing.ts'
import { CATALOGUE_ROUTES } from '../api/routes/index.ts'
import {
  createDataFolder,
  differences,
  read,
  record,
  type Script,
} from '../recorder/scripted.testing.ts'
import type { StoreReader } from '../store/store.ts'
import { withRebuilt } from './rebuild.ts'

const EVENT = 'KXTEST15M-26SEP211200'
const TICKER = `${EVENT}-15`

type Row = { revision: number; status: MarketStatus; anomaly?: object }

/** The revisions of the market, one per page, as a client reads them from the REST interface. */
async function readRevisions(store: StoreReader): Promise<Row[]> {
  const call = createTestCaller(CATALOGUE_ROUTES, { store })
  const schema = CATALOGUE_ROUTES.find(({ id }) => id === 'venueb_revisions')!.data
  const url = `/v3/venueb/${TICKER}/revisions?limit=1`
  const rows: Row[] = []
  for (let next = url; ;) {
    const { body } = await call.get(next)
    expect(violations(schema, body.data)).toEqual([])
    rows.push(...(body.data as Row[]))
    if (body.pagination.next_cursor === null) return rows
    next = `${url}&cursor=${body.pagination.next_cursor}`
  }
}

const tell = ({ revision, status, anomaly }: Row): string =>
  `${revision} ${status}${anomaly === undefined ? '' : ` ${JSON.stringify(anomaly)}`}`

describe('an illegal status transition', () => {
  it('is stored, served with the revision and found again by a rebuild', async () => {
    const data = createDataFolder()
    await record(data, 'venueb', (script) => {
      for (const status of [
        'initialized',
        'active',
        'finalized',
        'active',
        'closed',
        'determined',
      ]) {
        const market = { ticker: TICKER, event_ticker: EVENT, title: 'Up?', status }
        script.answer({ kind: 'market', ticker: TICKER }, { market })
        script.wait(1000)
      }
    })
    const expected = [
      '1 scheduled',
      '2 open',
      '3 resolved',
      '4 open {"code":"illegal_transition","from":"resolved","to":"open"}',
      '5 closed',
      '6 determined',
    ]
    const rows = await read(data, readRevisions)
    expect(rows.map(tell)).toEqual(expected)
    expect(await differences(data)).toEqual([])
    const rebuilt = await withRebuilt({ data }, readRevisions)
    expect(rebuilt).toEqual(rows)
  })
})

describe('an id that the venue gives to another market', () => {
  it('is recorded as such, and nothing of the ended market stays in the record', async () => {
    const data = createDataFolder()
    const say = (script: Script, status: string, hour: number, more: object = {}): void => {
      const open_time = `2026-09-21T${hour}:00:00Z`
      const close_time = `2026-09-21T${hour}:15:00Z`
      const market = { ticker: TICKER, event_ticker: EVENT, status, open_time, close_time, ...more }
      script.answer({ kind: 'market', ticker: TICKER }, { market })
      script.wait(1000)
    }
    await record(data, 'venueb', (script) => {
      say(script, 'active', 12)
      say(script, 'finalized', 12, { result: 'yes', settlement_value_dollars: '1.0000' })
      say(script, 'active', 18)
      say(script, 'closed', 18)
    })
    const rows = await read(data, readRevisions)
    expect(rows.map(tell)).toEqual([
      '1 open',
      '2 resolved',
      '3 open {"code":"reused_id","from":"resolved","to":"open"}',
      '4 closed',
    ])
    await read(data, async (store) => {
      const call = createTestCaller(CATALOGUE_ROUTES, { store })
      const { body } = await call.get('/v3/venueb/markets?series=KXTEST15M')
      expect(body.data).toMatchObject([
        {
          market_id: TICKER,
          status: 'closed',
          winning_outcome: null,
          last_anomaly: { code: 'reused_id', from: 'resolved', to: 'open' },
        },
      ])
    })
    expect(await differences(data)).toEqual([])
  })
})
