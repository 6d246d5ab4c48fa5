import { execFile, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServe } from '../../packages/service/src/commands/serve.testing.ts'

/**
 * Data written by version 0.1.0 and read by the code of today, through the public doors alone:
 * - `data/`: a data folder whose recorder was stopped, packed, started again and killed, so that it
 *   has sealed chunks, an unsealed tail, a write-ahead log and journals; with the key and the cursor
 *   secret of that installation.
 * - `downloads/`: files as `/v3/bulk` sent them.
 * - `expected.json`: cursors handed out in the middle of walks, and hashes of everything that the old
 *   code answered afterwards.
 */
const FIXTURES = join(import.meta.dirname, 'v0.1.0')

type Expected = {
  readonly key: string
  readonly verify: Readonly<Record<string, number>>
  readonly walks: readonly {
    readonly first: string
    readonly cursor: string
    readonly rows: number
    readonly hash: string
    readonly gaps: number
    readonly gapsHash: string
  }[]
  readonly pages: readonly { readonly path: string; readonly hash: string }[]
  readonly downloads: readonly {
    readonly path: string
    readonly file: string
    /** See `contentOf`. */
    readonly sha256: string
  }[]
  readonly replays: readonly {
    readonly file: string
    readonly lines: number
    readonly sha256: string
  }[]
}

type Page = {
  readonly data: readonly unknown[]
  readonly meta: { readonly gaps: readonly unknown[] }
  readonly pagination: { readonly next_cursor: string | null }
}

const root = join(import.meta.dirname, '../..')
const expected = JSON.parse(readFileSync(join(FIXTURES, 'expected.json'), 'utf8')) as Expected
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-compat-'))
const downloads = join(scratch, 'downloads')

beforeAll(() => unpack('downloads', downloads))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('a data folder of version 0.1.0', () => {
  const data = join(scratch, 'data')
  beforeAll(() => unpack('data', data))

  it('verifies, and its journal still gives the same rows', async () => {
    const report = await server('verify', '--journal', '--json', '--data', data)
    expect(JSON.parse(report)).toEqual({ ...expected.verify, pending: 0, roots: 0, problems: [] })
  })

  it('is rebuilt from its journal without a difference', async () => {
    const report = JSON.parse(await server('rebuild', '--json', '--data', data))
    expect(report).toMatchObject({ records: expected.verify['records'], differences: [] })
    expect(report).toMatchObject({ damage: [], adopted: [] })
  })
})

describe('an API over a data folder of version 0.1.0', () => {
  const data = join(scratch, 'served')
  let api: { readonly url: string; readonly child: ChildProcess }

  beforeAll(async () => {
    unpack('data', data)
    api = await serve(data)
  })
  afterAll(() => {
    api.child.kill()
  })

  const get = async (path: string): Promise<Response> => {
    for (;;) {
      const response = await fetch(api.url + path, {
        headers: { authorization: `Bearer ${expected.key}` },
      })
      if (response.status === 200) return response
      if (response.status !== 429) throw new Error(`${path}: ${await response.text()}`)
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  }
  const json = async (path: string): Promise<Page> => (await get(path)).json() as Promise<Page>

  it.each(expected.walks)(
    'continues a walk from a cursor of that version: $first',
    async (walk) => {
      const rows: unknown[] = []
      const gaps: unknown[] = []
      for (let cursor: string | null = walk.cursor; cursor !== null;) {
        const page = await json(`${walk.first}&cursor=${encodeURIComponent(cursor)}`)
        rows.push(...page.data)
        gaps.push(...page.meta.gaps)
        cursor = page.pagination.next_cursor
      }
      expect(rows).toHaveLength(walk.rows)
      expect(sha256(asBefore(JSON.stringify(rows)))).toBe(walk.hash)
      // That version never gave the gaps of series.
      if (walk.first.includes('/timeseries?')) return
      expect(gaps).toHaveLength(walk.gaps)
      expect(sha256(JSON.stringify(gaps))).toBe(walk.gapsHash)
    },
  )

  it.each(expected.pages)('answers $path with the same data', async ({ path, hash }) => {
    const { data: body } = await json(path)
    expect(sha256(withoutLater(JSON.stringify(body)))).toBe(hash)
  })

  it.each(expected.downloads)('downloads the same $file', async (download) => {
    const bytes = new Uint8Array(await (await get(download.path)).arrayBuffer())
    const content = await contentOf(download.file, bytes)
    const text = typeof content === 'string' ? content : new TextDecoder().decode(content)
    expect(sha256(asBefore(text))).toBe(download.sha256)
  })
})

describe('downloads of version 0.1.0', () => {
  it.each(expected.replays)(
    'replays $file to the same lines',
    async ({ file, lines, sha256: hash }) => {
      const text = await client('replay', join(downloads, file))
      expect(text.trimEnd().split('\n')).toHaveLength(lines)
      expect(sha256(withoutLater(text))).toBe(hash)
    },
  )

  it.each(readdirSync(join(FIXTURES, 'downloads')).map((name) => name.replace(/\.zst$/, '')))(
    'verifies %s',
    async (file) => {
      const report = JSON.parse(await client('verify', join(downloads, file), '--json'))
      expect(report).toMatchObject({ is_good: true, fault_count: 0 })
    },
  )
})

/**
 * The part of a download that must not change: all of a CSV file, the lines of an NDJSON file without
 * the receipt (which changed after 0.1.0), the events of a tape file (which also says when it was made).
 */
async function contentOf(name: string, bytes: Uint8Array): Promise<string | Uint8Array> {
  if (name.endsWith('-trades.csv')) return withOneNativeCell(new TextDecoder().decode(bytes))
  if (name.endsWith('.csv')) return bytes
  if (name.endsWith('.ndjson')) {
    const lines = new TextDecoder().decode(bytes).trimEnd().split('\n')
    return lines.filter((line) => !line.startsWith('{"type":"receipt"')).join('\n')
  }
  const file = join(scratch, name)
  writeFileSync(file, bytes)
  return withoutLater(withNewestRecords(await client('replay', file)))
}

// CSV of that version had the flags of a trade as a JSON list, and what its message said in one cell.
function withOneNativeCell(text: string): string {
  const [head, ...lines] = text.split('\n')
  const rows = lines.map((line) => {
    const [, before, flags, taker, sid, seq] =
      /^(.*),([^,]*),([^,]*),(\d*),(\d*),(?:"(?:[^"]|"")*"|[^,]*)$/.exec(line) ?? []
    if (before === undefined) return line
    const numberOf = (cell: string): number | null => (cell === '' ? null : Number(cell))
    const native = {
      taker_side: taker === '' ? null : taker,
      sid: numberOf(sid!),
      seq: numberOf(seq!),
    }
    const list = JSON.stringify(flags === '' ? [] : flags!.split('|'))
    return `${before},${list},"${JSON.stringify(native).replaceAll('"', '""')}"`
  })
  return [head!.replace('native_taker_side,native_sid,native_seq,native', 'native'), ...rows].join(
    '\n',
  )
}

// Tape files of that version had only the newest record of a market; today they have the older ones too.
function withNewestRecords(text: string): string {
  const seen = new Set<string>()
  const lines = text.split('\n').toReversed()
  const kept = lines.filter((line) => {
    if (!line.startsWith('{"type":"market"')) return true
    const { venue, market_id: id } = JSON.parse(line) as { venue: string; market_id: string }
    const isNewest = !seen.has(`${venue}:${id}`)
    seen.add(`${venue}:${id}`)
    return isNewest
  })
  return kept.toReversed().join('\n')
}

// The members that market records have since, behind all that 0.1.0 gave.
const LATER = new RegExp(
  /,"strike":(?:null|"[^"]*"|[\d.]+),"last_anomaly":null/.source +
    /(?:,"asset":(?:null|"[^"]*"),"window":(?:null|"[^"]*"))?/.source +
    /(?:,"event":(?:null|\{[^{}]*\}),"category":(?:null|"[^"]*"),"tags":\[[^\]]*\],"capture":(?:null|\{[^{}]*\}))?/
      .source,
  'g',
)

/**
 * Rows as 0.1.0 wrote them. It made up the native side of a trade from the normalized one, where today
 * the rows of that version say null, and it called the topic of a sample `topic_id`.
 */
function asBefore(text: string): string {
  const word = (venue: string, side: string): string =>
    venue === 'venueb' ? (side === 'buy' ? 'yes' : 'no') : side === 'buy' ? 'BUY' : 'SELL'
  return text
    .replaceAll(
      /("venue":"(venue[bc])"[^{}]*"taker_side":"(buy|sell)"[^{}]*"native":\{"taker_side":)null/g,
      (_, before: string, venue: string, side: string) => `${before}"${word(venue, side)}"`,
    )
    .replaceAll(
      /^(venue[bc])(:[^\n]*\/trade:[^\n]*,(buy|sell),[^\n]*""taker_side"":)null/gm,
      (_, venue: string, rest: string, side: string) => `${venue}${rest}""${word(venue, side)}""`,
    )
    .replaceAll('"venue":"venuea","event_id":', '"venue":"venuea","topic_id":')
}

function withoutLater(text: string): string {
  return text.replaceAll(LATER, '')
}

/** Decompresses a folder of fixtures; `_` in a name stands for a folder. */
function unpack(part: string, to: string): void {
  for (const name of readdirSync(join(FIXTURES, part))) {
    const path = join(to, name.replace(/\.zst$/, '').replaceAll('_', '/'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, zstdDecompressSync(readFileSync(join(FIXTURES, part, name))))
  }
}

const run = promisify(execFile)
const MAX_OUTPUT = 64 * 1024 * 1024

async function server(...args: string[]): Promise<string> {
  const bin = join(root, 'packages/service/bin/priorbook-server.mjs')
  return (await run(process.execPath, [bin, ...args], { maxBuffer: MAX_OUTPUT })).stdout
}

async function client(...args: string[]): Promise<string> {
  const bin = join(root, 'packages/sdk/bin/priorbook.mjs')
  return (await run(process.execPath, [bin, ...args], { maxBuffer: MAX_OUTPUT })).stdout
}

/** Serves a data folder that nothing records into. */
async function serve(data: string): Promise<{ url: string; child: ChildProcess }> {
  const options = ['--upstream', 'none', '--role', 'api', '--workers', '1', '--data', data]
  const { url, child, printed } = await startServe(data, options, {
    PRIORBOOK_LOG_LEVEL: 'silent',
  })
  if (url === '') throw new Error(`the server ended without an address: ${printed()}`)
  return { url, child }
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
