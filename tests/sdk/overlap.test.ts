import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VENUE_IDS, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { main } from '../../packages/sdk/src/cli/main.ts'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { pause, start, type Running } from '../capture/harness.ts'
import { captureBooks, type CapturedLine, type OwnCapture } from './own-capture.ts'

const CAPTURE_MS = 14_000

const folder = mkdtempSync(join(tmpdir(), 'priorbook-overlap-'))
const captured = new Map<VenueId, readonly CapturedLine[]>()
const followed = new Map<VenueId, readonly string[]>()
let run: Running
let access: Access
let server: ApiServer
let env: Record<string, string>

beforeAll(async () => {
  run = await start({ seed: 5, rates: { changes: 8, trades: 0.5, pauses: 0 } })
  // The recorder has every book before the capture begins.
  while (!(await hasBooks(run))) await pause(100)
  const captures = await Promise.all(VENUE_IDS.map((venue) => capture(venue)))
  await pause(CAPTURE_MS)
  for (const [index, venue] of VENUE_IDS.entries()) {
    captures[index]!.stop()
    captured.set(venue, withoutGreetings(captures[index]!.lines))
  }
  await pause(1000)
  const home = join(dirname(run.data.tape), 'access')
  mkdirSync(home)
  access = openAccess(home)
  server = createApiServer({ store: run.store, access })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'overlap' })
  env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
}, 180_000)

/**
 * Venue A answers a subscription with the book of that moment, which may lie between two of its pushes to
 * others, so the recorder cannot have it.
 */
function withoutGreetings(lines: readonly CapturedLine[]): readonly CapturedLine[] {
  const topics = new Set<string>()
  return lines.filter(({ message }) => {
    const { type, topic } = message as { readonly type?: string; readonly topic?: string }
    if (type !== 'TOPIC' || topic === undefined || topics.has(topic)) return true
    topics.add(topic)
    return false
  })
}

afterAll(async () => {
  await server.close(500)
  access.close()
  await run.destroy()
  rmSync(folder, { recursive: true, force: true })
})

async function hasBooks({ store }: Running): Promise<boolean> {
  for (const venue of VENUE_IDS) {
    const ids = await openBooks(store, venue)
    if (ids.length < 2) return false
    // More than the first answers: the recorder's sockets are open.
    for (const key of ids) {
      const facts = await store.instrument({ venue, key })
      if (facts === undefined || facts.lastSequence < 5) return false
    }
  }
  return true
}

// Markets that stay open longer than the capture. Where all close before, the next ones are waited for.
async function openBooks(store: Running['store'], venue: VenueId): Promise<string[]> {
  const later = (Date.now() + 2 * CAPTURE_MS) * 1000
  const { markets } = await store.markets({ venue, status: 'open', limit: 100 })
  const ids: string[] = []
  for (const { record } of markets) {
    if (record.closeTime === undefined || record.closeTime < later) continue
    for (const { instrument } of await store.instrumentsOf(venue, record.marketId)) {
      ids.push(VENUES[venue].booksPer === 'token' ? instrument.key : record.marketId)
    }
  }
  return ids
}

async function capture(venue: VenueId): Promise<OwnCapture> {
  const ids = await openBooks(run.store, venue)
  followed.set(venue, ids)
  return captureBooks(venue, run.emulator.addresses[venue]!, ids)
}

type Result = {
  readonly status: number
  readonly out: string
  readonly json: {
    readonly agrees: boolean
    readonly reasons: readonly string[]
    readonly compared: number
    readonly best: number
    readonly depth: number
    readonly offset: { median_ms: number; low_ms: number; high_ms: number; matches: number }
    readonly own_holes: readonly { start_time: string; end_time: string; others: number }[]
    readonly service_holes: readonly object[]
    readonly differences: readonly { line: number; what: string; own: string; service: string }[]
    readonly unrecorded: readonly string[]
  }
}

async function overlap(lines: readonly unknown[], ...options: readonly string[]): Promise<Result> {
  const path = join(folder, 'capture.ndjson')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const once = async (...more: readonly string[]): Promise<[number, string]> => {
    let out = ''
    // Recorder and capture share this process: what reaches one may wait for the other.
    const own = ['--tolerance', '1500']
    const status = await main(['overlap', path, ...own, ...options, ...more], {
      write: async (text) => void (out += text.toString()),
      note: () => undefined,
      draw: () => undefined,
      isTty: false,
      isErrorTty: false,
      env,
      paint: (_style, text) => text,
      size: () => ({ columns: 80, rows: 24 }),
    })
    return [status, out]
  }
  const [status, text] = await once('--json')
  const [, out] = await once()
  return { status, out, json: JSON.parse(text.split('\n')[0]!) as Result['json'] }
}

const linesOf = (venue: VenueId): readonly CapturedLine[] => captured.get(venue)!

describe('a capture made beside the service', () => {
  for (const venue of VENUE_IDS) {
    it(`agrees with it: ${venue}`, async () => {
      const { status, json, out } = await overlap(linesOf(venue), '--agree', '1')
      expect([json.differences, json.reasons, json.agrees, status]).toEqual([[], [], true, 0])
      expect(json.compared).toBeGreaterThan(50)
      expect([json.best, json.depth]).toEqual([json.compared, json.compared])
      expect(json.offset.matches).toBeGreaterThan(10)
      expect(Math.abs(json.offset.median_ms)).toBeLessThan(500)
      expect([json.own_holes, json.service_holes, json.differences]).toEqual([[], [], []])
      expect(out).toContain('the capture and the service agree')
    })

    it(`shows a shifted clock, and nothing else: ${venue}`, async () => {
      const shifted = linesOf(venue).map(({ received, message }) => ({
        received: received - 2_500_000,
        message,
      }))
      const { status, json } = await overlap(shifted, '--agree', '1')
      expect(status).toBe(6)
      expect(json.reasons).toEqual([expect.stringContaining('the clocks differ by 2.5')])
      expect(json.offset.low_ms).toBeLessThanOrEqual(json.offset.median_ms)
      expect(Math.abs(json.offset.median_ms - 2500)).toBeLessThan(500)
      expect([json.depth, json.own_holes]).toEqual([json.compared, []])
    })

    it(`shows a part that was left out, and nothing else: ${venue}`, async () => {
      const lines = linesOf(venue)
      const from = lines[0]!.received + 4_000_000
      const to = from + 5_000_000
      const kept = lines.filter(({ received }) => received < from || received >= to)
      const { status, json } = await overlap(kept, '--agree', '1', '--hole', '4')
      expect([json.reasons, status]).toEqual([[], 0])
      expect(json.own_holes.length).toBeGreaterThan(0)
      for (const { start_time: start, end_time: end, others } of json.own_holes) {
        expect(Date.parse(start) * 1000).toBeLessThanOrEqual(from + 1_000_000)
        expect(Date.parse(end) * 1000).toBeGreaterThanOrEqual(to - 1_000_000)
        expect(others).toBeGreaterThan(0)
      }
    })
  }

  it('shows one changed price, and where', async () => {
    const rows = await download('venuec')
    const good = await overlap(rows, '--agree', '1')
    expect([good.json.reasons, good.status]).toEqual([[], 0])
    const at = Math.floor(rows.length / 2)
    const row = rows[at] as { bids: { price: number[] } }
    const price = [...row.bids.price]
    price[0] = Math.round((price[0]! - 0.001) * 10_000) / 10_000
    const changed = rows.with(at, { ...row, bids: { ...row.bids, price } })
    const bad = await overlap(changed, '--agree', '1')
    expect([bad.status, bad.json.reasons[0]]).toEqual([6, expect.stringContaining('1 of ')])
    expect(bad.json.differences).toEqual([
      expect.objectContaining({ line: at + 1, what: 'best_price' }),
    ])
    // A share that is enough is enough.
    expect((await overlap(changed, '--agree', '0.9')).status).toBe(0)
  })

  it('shows a changed message of the wire from its line on', async () => {
    const lines = linesOf('venueb')
    const at = lines.findIndex(
      ({ message }, index) =>
        index > lines.length / 2 && (message as { type: string }).type === 'orderbook_delta',
    )
    const message = structuredClone(lines[at]!.message) as { msg: { delta_fp: string } }
    message.msg.delta_fp = '777777.00'
    const { status, json } = await overlap(
      lines.with(at, { ...lines[at]!, message }),
      '--agree',
      '1',
      '--depth',
      '100',
    )
    expect(status).toBe(6)
    expect(json.differences[0]).toMatchObject({ line: at + 1 })
  })

  it('of something else is refused, and an unknown market is named', async () => {
    const path = join(folder, 'other.ndjson')
    writeFileSync(path, '{"hello":1}\nnot json\n')
    const unknown = linesOf('venueb')
      .slice(0, 40)
      .map(({ received, message }) => {
        const text = JSON.stringify(message).replaceAll(
          /"market_ticker":"[^"]+"/g,
          '"market_ticker":"KXNONE"',
        )
        return { received, message: JSON.parse(text) as unknown }
      })
    const { status, json } = await overlap(unknown)
    expect([status, json.unrecorded]).toEqual([6, ['venueb:KXNONE']])
  })
})

async function download(venue: VenueId): Promise<object[]> {
  const key = followed.get(venue)![0]!
  const { instrument } = (await run.store.instrument({ venue, key }))!
  const url = `${env['PRIORBOOK_URL']}/v3/bulk?venue=${venue}&market_id=${instrument.market}`
  const headers = { authorization: `Bearer ${env['PRIORBOOK_KEY']}` }
  const text = await (await fetch(url, { headers })).text()
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string })
    .filter(({ type }) => type === 'book')
}
