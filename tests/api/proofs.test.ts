import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { createProofReader } from '../../packages/service/src/proofs/proof-reader.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { DATED, FIRST_ROWS, LATE_ROWS, writeDated } from './dated-tape.ts'
import { forgeChunk, forgeNdjson, forgeTape, framesOf } from './forge-tape.ts'
import { chunksOf, hashOf, isSigned, linesOf, rootOf, type OracleProof } from './proof-oracle.ts'
import { runCommand } from '../sdk/run-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-proofs-'))
let service: ServiceProcess
let key: string

const OVER = `venueb:${DATED.over.market}`
const TOKENS = `venuec:${DATED.yes.market}`
const file = (name: string): string => join(folder, name)

type Answer = {
  readonly data: never
  readonly meta: { readonly key: string; readonly notice?: { readonly code: string } }
}

async function get(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` }
  return (await (await fetch(service.url + path, { headers })).json()) as Answer
}

async function proofOf(day: string, venue: string, market: string): Promise<OracleProof> {
  return (await get(`/v3/proofs/${day}?venue=${venue}&market_id=${market}`)).data
}

const run = (...args: readonly string[]) =>
  runCommand(args, { PRIORBOOK_URL: service.url, PRIORBOOK_KEY: key })

type Verified = {
  readonly is_good: boolean
  readonly findings: readonly { readonly check: string; is_good: boolean; detail: string }[]
  readonly proof: {
    readonly keys: readonly string[]
    readonly is_key_given: boolean
    readonly covered_rows: number
    readonly uncovered: readonly { series: string; first: number; rows: number; reason: string }[]
  }
}

/** Verifies a file without the service, and gives the failed checks. */
async function verify(...args: readonly string[]): Promise<Verified & { readonly bad: string }> {
  const { out } = await run('verify', ...args, '--json', '--url', 'http://127.0.0.1:1')
  const verified = JSON.parse(out) as Verified
  const bad = verified.findings.filter(({ is_good: isGood }) => !isGood)
  return { ...verified, bad: bad.map(({ check, detail }) => `${check}: ${detail}`).join('; ') }
}

beforeAll(async () => {
  service = await createService(['--upstream', 'none'])
  await writeDated(service.data, FIRST_ROWS)
  const { code } = await callServer('prove', '--data', service.data)
  expect(code).toBe(0)
  key = service.keyOf('unlimited')
  await service.start()
}, 120_000)

afterAll(async () => {
  await service.destroy()
  rmSync(folder, { recursive: true, force: true })
})

describe('signed roots', () => {
  it('are one for each day that is over, chained, and signed by the key that is served', async () => {
    const { data, meta } = await get('/v3/proofs')
    const roots = data as readonly (OracleProof['roots'][number] & { readonly day: string })[]
    expect(roots.map(({ day }) => day)).toEqual(['2026-08-11', '2026-08-12'])
    expect(roots.every(isSigned)).toBe(true)
    const lines = roots.map(({ statement }) => linesOf(statement))
    expect(lines.map(({ key: one }) => one)).toEqual([meta.key, meta.key])
    expect(lines[0]!['previous']).toBe('0'.repeat(64))
    expect(lines[1]!['previous']).toBe(hashOf(roots[0]!.statement))
    expect(statSync(join(service.data, 'proofs.key')).mode & 0o777).toBe(0o600)
    expect(statSync(join(service.data, 'proofs.db')).mode & 0o777).toBe(0o600)
    const csv = await fetch(`${service.url}/v3/proofs?format=csv&order=desc&limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect((await csv.text()).split('\n')[1]).toMatch(/^2026-08-12,1,2,/)
  })

  it('name every sealed chunk of a market, as an independent program finds', async () => {
    const hashes = new Map<string, string>()
    const store = openEmbeddedStore({ file: join(service.data, 'tape.db'), readOnly: true })
    for (const { venue, key: own } of [DATED.over, DATED.yes, DATED.no]) {
      const { head } = (await store.instrument({ venue, key: own }))!
      hashes.set(own, head!)
    }
    await store.close()
    const first = await proofOf('2026-08-11', 'venueb', DATED.over.market)
    const second = await proofOf('2026-08-12', 'venueb', DATED.over.market)
    for (const proof of [first, second]) {
      expect(rootOf(proof)).toBe(linesOf(proof.roots[0]!.statement)['root'])
    }
    // 1,800 rows lie before midnight; the second chunk ends after it.
    expect(chunksOf(first).map(({ stream, first: row }) => `${stream} ${row}`)).toEqual([
      `${DATED.over.key}/book 1`,
    ])
    const after = chunksOf(second)
    expect(after.map(({ stream, first: row }) => `${stream} ${row}`)).toEqual([
      `${DATED.over.key}/book 1025`,
      `${DATED.over.key}/trade 1`,
    ])
    expect(after[0]!.hash).toBe(hashes.get(DATED.over.key))
    const tokens = chunksOf(await proofOf('2026-08-11', 'venuec', DATED.yes.market))
    expect(tokens.map(({ first: row }) => row)).toEqual([1, 1025, 1, 1025])
    expect(tokens[3]!.hash).toBe(hashes.get(DATED.no.key))
  })

  it('are not there for a day that runs, and the answer says why', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const running = await get(`/v3/proofs/${today}`)
    expect([running.data, running.meta.notice?.code]).toEqual([null, 'day_running'])
    const empty = await get('/v3/proofs/2026-08-10')
    expect([empty.data, empty.meta.notice?.code]).toEqual([null, 'no_sealed_rows'])
    const future = await get('/v3/proofs/2199-01-01')
    expect(future.meta.notice?.code).toBe('future_range')
    const wrong = await get('/v3/proofs/2026-08-11?venue=venueb')
    expect(wrong).toMatchObject({ code: 'invalid_parameter', param: 'market_id' })
    const unknown = await get('/v3/proofs/2026-08-11?venue=venueb&market_id=KXNONE')
    expect(unknown).toMatchObject({ code: 'unknown_market' })
  })
})

describe('a downloaded file', () => {
  it('is checked against the roots without the service: tape', async () => {
    const path = file('over.tape')
    const { status, err } = await run('download', OVER, '-f', 'tape', '-o', path, '--proof')
    expect([status, err]).toEqual([0, expect.stringContaining('')])
    const { meta } = await get('/v3/proofs')
    const good = await verify(path, '--proof-key', meta.key)
    expect([good.bad, good.is_good]).toEqual(['', true])
    expect(good.proof).toMatchObject({ keys: [meta.key], is_key_given: true, covered_rows: 2048 })
    expect(good.proof.uncovered).toEqual([
      {
        series: `venueb:${DATED.over.key}`,
        first: 2049,
        last: 2600,
        rows: 552,
        reason: 'not in a sealed chunk',
      },
    ])
    const text = await run('verify', path)
    expect(text.out).toContain('2048 rows are covered by signed roots, 552 are not')
    expect(text.out).toContain('compare it with the published key')
  })

  it('is checked against the roots without the service: NDJSON of books and trades', async () => {
    for (const [name, ...more] of [
      ['books.ndjson', '--depth', '1'],
      ['trades.ndjson', '--dataset', 'trades'],
    ] as const) {
      const path = file(name)
      expect((await run('download', OVER, '-o', path, '--proof', ...more)).status).toBe(0)
      const good = await verify(path)
      expect([name, good.bad]).toEqual([name, ''])
      expect(good.proof.covered_rows).toBe(name === 'books.ndjson' ? 2048 : 1024)
    }
    const tokens = file('tokens.ndjson')
    const day = ['--day', '2026-08-11']
    expect((await run('download', TOKENS, '-o', tokens, '--proof', ...day)).status).toBe(0)
    const good = await verify(tokens)
    expect([good.bad, good.proof.covered_rows]).toEqual(['', 4096])
    expect((await run('download', TOKENS, '-f', 'csv', '--proof', '-o', file('x'))).status).toBe(2)
  })

  it('is refused for one changed byte, one missing chunk and one unsigned copy', async () => {
    const path = file('forged.tape')
    const frames = framesOf(readFileSync(file('over.tape')))
    const proof = ['--proof', file('over.tape.proof.json')]
    const chunk = frames.findIndex(({ kind }) => kind === 'C')
    const write = (list: typeof frames): void => writeFileSync(path, forgeTape(list))
    write(frames)
    expect((await verify(path, ...proof)).bad).toBe('')
    const { payload } = frames[chunk]!
    write(frames.with(chunk, { kind: 'C', payload: forgeChunk(payload) }))
    expect((await verify(path, ...proof)).bad).toContain('rows 1–1024')
    write(frames.with(chunk, { kind: 'P', payload: forgeChunk(payload) }))
    expect((await verify(path, ...proof)).bad).toContain('rows 1–1024')
    const last = frames.findLastIndex(({ kind }) => kind === 'C')
    write(frames.filter((_, index) => index !== last))
    expect((await verify(path, ...proof)).bad).toContain('rows 1025–2048')
    const bytes = readFileSync(file('over.tape'))
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(path, bytes)
    expect((await verify(path, ...proof)).is_good).toBe(false)
  })

  it('is refused for one changed digit, one missing row and one invented row', async () => {
    const path = file('forged.ndjson')
    const proof = ['--proof', file('books.ndjson.proof.json')]
    const lines = readFileSync(file('books.ndjson'), 'utf8').trimEnd().split('\n')
    const check = async (list: readonly string[]): Promise<string> => {
      writeFileSync(path, forgeNdjson(list))
      return (await verify(path, ...proof)).bad
    }
    expect(await check(lines)).toBe('')
    const row = lines.findIndex((line) => line.includes(`${DATED.over.key}:77"`))
    const changed = lines[row]!.replace('"price":[0.49', '"price":[0.48')
    expect(changed).not.toBe(lines[row])
    expect(await check(lines.with(row, changed))).toContain(`${OVER}:77 is not what its chunk says`)
    expect(await check(lines.filter((_, index) => index !== row))).toContain(
      `${OVER}:77 is missing`,
    )
    const rows = lines.filter((line) => line.startsWith('{"type":"book"'))
    const cut = lines.filter((line) => line !== rows.at(-1))
    expect(await check(cut)).toContain(`${OVER}:2600 is missing`)
    const more = lines.toSpliced(row, 0, lines[row]!)
    expect(await check(more)).toContain('is not in the chunks')
  })

  it('is refused with another key, another market’s proof, and a changed proof', async () => {
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const hex = Buffer.from(other.x!, 'base64url').toString('hex')
    expect((await verify(file('over.tape'), '--proof-key', hex)).bad).toContain(`not by ${hex}`)
    const foreign = await verify(file('over.tape'), '--proof', file('tokens.ndjson.proof.json'))
    expect(foreign.bad).toContain('no row of the file is in a signed root')
    const text = readFileSync(file('over.tape.proof.json'), 'utf8')
    const proof = file('forged.proof.json')
    const check = async (changed: string): Promise<string> => {
      expect(changed).not.toBe(text)
      writeFileSync(proof, changed)
      return (await verify(file('over.tape'), '--proof', proof)).bad
    }
    expect(await check(text.replace('sequence 1', 'sequence 9'))).toContain('signature')
    expect(await check(text.replace('1024,', '1023,'))).toContain('signed root')
    const days = JSON.parse(text) as { days: OracleProof[] }
    const [day] = days.days as [OracleProof]
    const { runs } = day.market
    const hidden = { ...day.market, runs: runs.map((run) => ({ ...run, leaves: [] })) }
    const without = { ...days, days: [{ ...day, market: hidden }, ...days.days.slice(1)] }
    expect(await check(JSON.stringify(without))).not.toBe('')
    const unnamed = { ...days, days: [] }
    expect(await check(JSON.stringify(unnamed))).toContain('no signed root')
  })
})

describe('after a day was signed', () => {
  it('late chunks are an amendment that names the root before it', async () => {
    const before = (await proofOf('2026-08-11', 'venueb', DATED.over.market)).roots[0]!
    await service.stop()
    await writeDated(service.data, LATE_ROWS, 10_000)
    const { out } = await callServer('prove', '--data', service.data, '--json')
    expect(JSON.parse(out)).toMatchObject({ signed: [{ day: '2026-08-11', number: 2 }] })
    await service.start()
    const late = await proofOf('2026-08-11', 'venueb', DATED.late.market)
    expect(late.roots[0]).toEqual(before)
    const lines = linesOf(late.roots[1]!.statement)
    expect([lines['amends'], lines['number']]).toEqual([hashOf(before.statement), '2'])
    expect(rootOf(late)).toBe(lines['root'])
    expect(chunksOf(late)).toHaveLength(1)
    // What was proved before holds, and a new proof of the same file too.
    expect((await verify(file('over.tape'))).bad).toBe('')
    const again = ['download', OVER, '-f', 'tape', '-o', file('again.tape'), '--proof']
    expect((await run(...again)).status).toBe(0)
    expect((await verify(file('again.tape'))).proof.covered_rows).toBe(2048)
  })

  it('nothing is signed again when the tape is derived again', async () => {
    await service.stop()
    for (const part of ['', '-wal', '-shm', '.lock']) {
      rmSync(join(service.data, `tape.db${part}`), { force: true })
    }
    await writeDated(service.data, FIRST_ROWS)
    await writeDated(service.data, LATE_ROWS, 10_000)
    const { out } = await callServer('prove', '--data', service.data, '--json')
    expect(JSON.parse(out)).toMatchObject({ signed: [] })
    expect((await callServer('verify', '--data', service.data)).out).toContain('3 signed roots')
  })

  it('roots and leaves stay when retention removes the chunks', async () => {
    const store = openEmbeddedStore({ file: join(service.data, 'tape.db') })
    const { chunks } = await store.retain(Date.parse('2026-08-12T00:00:00Z') * 1000)
    expect(chunks).toBeGreaterThan(0)
    await store.close()
    await service.start()
    const proof = await proofOf('2026-08-11', 'venueb', DATED.over.market)
    expect(chunksOf(proof)).toHaveLength(1)
    expect(rootOf(proof)).toBe(linesOf(proof.roots.at(-1)!.statement)['root'])
    await service.stop()
  })

  it('a backup takes the key along; a lost key is replaced, and that shows', async () => {
    const saved = file('backup')
    const restored = file('restored')
    expect((await callServer('backup', '--data', service.data, saved)).code).toBe(0)
    const { out } = await callServer('restore', '--data', restored, saved, '--json')
    expect(JSON.parse(out)).toMatchObject({ roots: 3, has_proof_key: true })
    expect(statSync(join(restored, 'proofs.key')).mode & 0o777).toBe(0o600)
    const keyOf = async (data: string): Promise<string> => {
      const proved = await callServer('prove', '--data', data, '--json')
      return (JSON.parse(proved.out) as { key: string }).key
    }
    const own = await keyOf(service.data)
    expect(await keyOf(restored)).toBe(own)
    rmSync(join(restored, 'proofs.key'))
    const next = await keyOf(restored)
    expect(next).not.toBe(own)
    const before = createProofReader(restored)
    const last = before.book()!.newest()!
    before.close()
    const instrument = { venue: 'venueb', market: 'KXNEXT-26AUG12', key: 'KXNEXT-26AUG12' } as const
    await writeDated(restored, [{ ...LATE_ROWS[0]!, instrument }], 30_000)
    expect(await keyOf(restored)).toBe(next)
    const after = createProofReader(restored)
    expect(after.book()!.newest()).toMatchObject({ key: next, number: 3, previous: last.hash })
    after.close()
    expect((await callServer('verify', '--data', restored)).code).toBe(0)
  })

  it('leaves go with proofs.age; roots and proofs that were saved before stay good', async () => {
    vi.stubEnv('PRIORBOOK_PROOFS_AGE', '1h')
    expect((await callServer('prove', '--data', service.data)).code).toBe(0)
    vi.unstubAllEnvs()
    expect((await callServer('verify', '--data', service.data)).out).toContain('3 signed roots')
    await service.start()
    const path = `/v3/proofs/2026-08-11?venue=venueb&market_id=${DATED.over.market}`
    const { data, meta } = await get(path)
    expect(meta.notice?.code).toBe('leaves_removed')
    const left = data as OracleProof & { readonly market: unknown }
    expect(left.market).toBeNull()
    expect(left.roots.every(isSigned)).toBe(true)
    const late = ['download', OVER, '-f', 'tape', '-o', file('unproved.tape'), '--proof']
    expect((await run(...late)).status).toBe(0)
    const { proof } = await verify(file('unproved.tape'))
    expect(proof.covered_rows).toBe(0)
    expect(proof.uncovered.map(({ reason }) => reason)).toEqual([
      'retention had removed the leaves of 2026-08-12 when the proof was made',
      'not in a sealed chunk',
    ])
    expect((await verify(file('over.tape'))).bad).toBe('')
    await service.stop()
  })
})
