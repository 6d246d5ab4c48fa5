import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { toMicros } from '@priorbook/sdk/domain'
import { journalStats, readJournal, readRecord } from '@priorbook/sdk/journal'
import { openJournalWriter } from './index.ts'

// Run: PRIORBOOK_RECORDINGS=… npx node packages/service/src/journal/journal.bench.ts
// Without recordings it makes lines of the same length, which compress better than real ones.

const lines = recordedLines() ?? madeLines(370_000)
const bytes = lines.reduce((sum, line) => sum + line.length, 0)
console.log(`${lines.length} lines, ${(bytes / 1e6).toFixed(1)} MB`)

for (let round = 1; round <= 5; round++) {
  const dir = mkdtempSync(join(tmpdir(), 'priorbook-bench-'))
  const journal = { dir, venue: 'venueb' } as const
  try {
    const writeMs = time(() => {
      const writer = openJournalWriter({ ...journal, origin: 'live', recorder: 'bench' })
      for (let i = 0; i < lines.length; i++) {
        writer.append(toMicros(1_786_000_000_000_000 + i * 137), 'message', lines[i]!)
        if (writer.pendingBytes > 1_000_000) writer.commit()
      }
      writer.close()
    })
    let read = 0
    const readMs = time(() => {
      for (const item of readJournal(journal)) {
        if (item.kind === 'block') for (const record of item.bytes) read += record.length
      }
    })
    if (read !== bytes) throw new Error('what came out is not what went in')
    const reopenMs = time(() =>
      openJournalWriter({ ...journal, origin: 'live', recorder: 'bench' }).close(),
    )
    const recordMs = time(() => readRecord(journal, lines.length - 5))
    const statsMs = time(() => journalStats(dir, 'venueb'))
    const stored = journalStats(dir, 'venueb').bytes
    const figures = { writeMs, readMs, reopenMs, recordMs, statsMs }
    const shown = Object.entries(figures).map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    console.log(`${shown.join('  ')}  stored ${(stored / lines.length).toFixed(1)} B a record`)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function time(action: () => void): number {
  const start = performance.now()
  action()
  return performance.now() - start
}

function recordedLines(): readonly Uint8Array[] | undefined {
  const root = process.env['PRIORBOOK_RECORDINGS']
  if (root === undefined) return undefined
  const folder = join(root, 'venueb/ws-gold15m')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ndjson.gz'))
    .flatMap((name) => splitLines(gunzipSync(readFileSync(join(folder, name)))))
}

function splitLines(text: Buffer): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  for (let at = 0; at < text.length;) {
    const end = text.indexOf(0x0a, at)
    const until = end < 0 ? text.length : end
    found.push(new Uint8Array(text.buffer, text.byteOffset + at, until - at))
    at = until + 1
  }
  return found
}

function madeLines(count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, i) => {
    const price = ((i * 7919) % 9900) / 10_000
    const message = { ticker: `MARKET-${i % 40}`, price, delta: (i * 104_729) % 2000, side: 'yes' }
    return Buffer.from(JSON.stringify({ type: 'delta', seq: i, message }).padEnd(300))
  })
}
