import { createReadStream } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PriorbookError } from '../../domain/index.ts'
import type { ChunkLeaf } from '../../wire/index.ts'
import type { FileFormat } from '../../client/index.ts'
import { UsageError } from '../../command-line/index.ts'
import { CliError } from '../errors.ts'
import type { Finding } from '../row-checks.ts'
import type { ProofFile } from './proof-file.ts'
import { ProofRows, type ProofRow } from './proof-rows.ts'
import { ProofError, proveMarket, type ProvedMarket } from './prove-market.ts'
import { dayOf, indexTape, seriesOf, type IndexedChunk, type TapeIndex } from './tape-index.ts'

/** Rows of a file that no signed root covers. */
type UncoveredRows = {
  /** `venue:series`, as in row ids. */
  readonly series: string
  readonly first: number
  readonly last: number
  readonly rows: number
  readonly reason: string
}

/** What the proof of a file showed. */
export type ProofVerdict = {
  readonly findings: readonly Finding[]
  /** The keys that signed the roots, and whether the caller named the one to trust. */
  readonly keys: readonly string[]
  readonly isKeyGiven: boolean
  readonly days: readonly { readonly day: string; readonly number: number; readonly root: string }[]
  /** The received times that the file says it holds, in microseconds. */
  readonly range: { readonly start: number; readonly end: number } | undefined
  readonly coveredRows: number
  readonly uncovered: readonly UncoveredRows[]
}

/** What to check. */
export type ProofCheckOrder = {
  readonly path: string
  readonly format: FileFormat
  readonly proof: ProofFile
  readonly proofFile: string
  /** The public key to trust, in hexadecimal. */
  readonly key: string | undefined
  readonly signal: AbortSignal
}

/** Checks a downloaded file against the signed roots of its proof, without the server. */
export async function verifyProof(order: ProofCheckOrder): Promise<ProofVerdict> {
  const { path, format, proof, key, signal } = order
  if (format !== 'tape' && format !== 'ndjson') {
    throw new UsageError(
      `a proof covers files of the formats tape and ndjson, not ${format}`,
      'Download the same range as tape or ndjson with --proof.',
    )
  }
  const { createReplayPlatform } = await import('../../replay/replay-node.ts')
  const platform = createReplayPlatform()
  const evidence = format === 'tape' ? path : evidenceOf(order)
  const verdict = new Verdict(key, proof.unsigned)
  try {
    for (const day of proof.days) verdict.add(proveMarket(day, key))
    const index = await indexTape(evidence, platform, signal)
    const rows = new ProofRows(evidence, index, platform, proof.style)
    try {
      verdict.judge(index, rows)
      if (format === 'ndjson') verdict.findings.push(await compareRows(path, rows, signal))
    } finally {
      rows.close()
    }
  } catch (error) {
    if (!(error instanceof ProofError) && !(error instanceof PriorbookError)) throw error
    verdict.findings.push({ check: 'proof', isGood: false, detail: error.message })
  }
  return verdict.result()
}

function evidenceOf({ proof, proofFile }: ProofCheckOrder): string {
  if (proof.evidence !== null && !/[/\\]/.test(proof.evidence)) {
    return join(dirname(proofFile), proof.evidence)
  }
  throw new CliError('incomplete', `${proofFile} names no tape file with the chunks of the rows`)
}

class Verdict {
  readonly findings: Finding[] = []
  private readonly key: string | undefined
  private readonly proved: ProvedMarket[] = []
  private readonly leaves = new Map<string, ChunkLeaf>()
  private readonly signedDays = new Set<string>()
  /** Days of markets whose leaves retention had removed when the proof was made. */
  private readonly removedDays: ReadonlySet<string>
  private readonly uncovered: UncoveredRows[] = []
  private covered = 0
  private range: ProofVerdict['range']

  constructor(key: string | undefined, unsigned: ProofFile['unsigned']) {
    this.key = key
    const removed = unsigned.filter(({ reason }) => reason === 'leaves_removed')
    this.removedDays = new Set(
      removed.map(({ day, venue, market_id: market }) => `${day} ${venue}:${market}`),
    )
  }

  add(proved: ProvedMarket): void {
    this.proved.push(proved)
    this.signedDays.add(`${dayText(proved.statement.day)} ${proved.venue}:${proved.market}`)
    for (const leaf of proved.leaves) this.leaves.set(leaf.hash, leaf)
  }

  /** Compares the chunks of a tape file with the leaves of the roots. */
  judge(index: TapeIndex, rows: ProofRows): void {
    this.findings.push(this.rootFinding())
    this.range = { start: index.start, end: index.end }
    let chunks = 0
    for (const chunk of index.chunks) {
      const count = rows.countInRange(chunk)
      if (chunk.isSealed && this.leaves.has(chunk.hash)) {
        chunks++
        this.covered += count
      } else if (count > 0) this.miss(chunk, count)
    }
    const gone = this.missing(index)
    this.findings.push({
      check: 'signed chunks',
      isGood: gone === undefined && this.covered > 0,
      detail:
        gone ??
        (this.covered > 0
          ? `${chunks} chunks with ${this.covered} rows of the range are in signed roots`
          : 'no row of the file is in a signed root'),
    })
  }

  result(): ProofVerdict {
    return {
      findings: this.findings,
      keys: [...new Set(this.proved.map(({ statement }) => statement.key))],
      isKeyGiven: this.key !== undefined,
      days: this.days(),
      range: this.range,
      coveredRows: this.covered,
      uncovered: this.uncovered,
    }
  }

  private days(): { day: string; number: number; root: string }[] {
    const roots = new Map<string, { day: string; number: number; root: string }>()
    for (const { statement } of this.proved) {
      const { number, root } = statement
      const day = dayText(statement.day)
      roots.set(`${day} ${number}`, { day, number, root })
    }
    return [...roots.values()]
  }

  private rootFinding(): Finding {
    const days = this.days()
    const keys = [...new Set(this.proved.map(({ statement }) => statement.key))]
    const by =
      this.key === undefined
        ? `${keys.join(', ')}: compare it with the published key, or name that with --proof-key`
        : 'the key that was named'
    return {
      check: 'signed roots',
      isGood: days.length > 0,
      detail:
        days.length > 0
          ? `${days.map(({ day }) => day).join(', ')} signed by ${by}`
          : 'the proof has no signed root',
    }
  }

  private miss(chunk: IndexedChunk, rows: number): void {
    const day = dayOf(chunk)
    const name = `${day} ${chunk.venue}:${chunk.market}`
    this.uncovered.push({
      series: `${chunk.venue}:${seriesOf(chunk)}`,
      first: chunk.first,
      last: chunk.first + chunk.count - 1,
      rows,
      reason: !chunk.isSealed
        ? 'not in a sealed chunk'
        : this.signedDays.has(name)
          ? `sealed after the newest root of ${day}`
          : this.removedDays.has(name)
            ? `retention had removed the leaves of ${day} when the proof was made`
            : `${day} was not signed when the proof was made`,
    })
  }

  // A signed chunk with rows of the range that the file does not have as it was signed.
  private missing({ chunks, start, end }: TapeIndex): string | undefined {
    const kinds = new Set(chunks.map(({ kind, metric }) => `${kind} ${metric}`))
    const covering = new Map<string, IndexedChunk[]>()
    for (const chunk of chunks) {
      if (!chunk.isSealed || !this.leaves.has(chunk.hash)) continue
      const name = streamOf(chunk)
      covering.set(name, [...(covering.get(name) ?? []), chunk])
    }
    const present = new Set(chunks.map(({ hash }) => hash))
    for (const leaf of this.leaves.values()) {
      if (present.has(leaf.hash) || !kinds.has(`${leaf.kind} ${leaf.metric}`)) continue
      if (isCovered(leaf, covering.get(streamOf(leaf)) ?? [])) continue
      const others = chunks.filter((chunk) => hasSameRows(chunk, leaf))
      const isBefore = leaf.firstReceived < start
      const isOutside = leaf.lastReceived < start || leaf.firstReceived >= end
      // The plan may cut the first chunk, whose rows are then sent as a part.
      const isCut = isBefore && others.length > 0 && others.every(({ isSealed }) => !isSealed)
      // A chunk around the whole range may have no row in it.
      const isAround = isBefore && leaf.lastReceived >= end && others.length === 0
      if ((isOutside && others.length === 0) || isCut || isAround) continue
      const last = leaf.first + leaf.count - 1
      return `rows ${leaf.first}–${last} of ${leaf.venue}:${seriesOf(leaf)} are not as they were signed: changed, or missing`
    }
    return undefined
  }
}

// A later generation of the same rows, which is signed as well, takes the place of an earlier one.
function isCovered(leaf: ChunkLeaf, chunks: readonly IndexedChunk[]): boolean {
  let next = leaf.first
  for (const { first, count } of chunks.toSorted((a, b) => a.first - b.first)) {
    if (first <= next && first + count > next) next = first + count
  }
  return next >= leaf.first + leaf.count
}

function hasSameRows(chunk: IndexedChunk, leaf: ChunkLeaf): boolean {
  const isOverlapping =
    chunk.first < leaf.first + leaf.count && leaf.first < chunk.first + chunk.count
  return isOverlapping && streamOf(chunk) === streamOf(leaf)
}

function streamOf({ venue, key, kind, metric }: ChunkLeaf): string {
  return `${venue}:${key}/${kind}/${metric}`
}

function dayText(day: number): string {
  return new Date(day / 1000).toISOString().slice(0, 10)
}

const ROWS = /^\{"type":"(?:book|trade|sample)","id":"([^"]+)"/

/** Compares the rows of an NDJSON file with those of the chunks, row by row. */
async function compareRows(path: string, rows: ProofRows, signal: AbortSignal): Promise<Finding> {
  const streams = rows.streams()
  const input = createReadStream(path, { highWaterMark: 1 << 20, signal })
  let count = 0
  const bad = (detail: string): Finding => ({ check: 'signed rows', isGood: false, detail })
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const id = ROWS.exec(line)?.[1]
    if (id === undefined) {
      if (/^\{"type":"(?:gap|receipt)"/.test(line)) continue
      return bad(`after ${count} rows: a line is not a row, a gap or a receipt`)
    }
    const at = id.lastIndexOf(':')
    const name = id.slice(0, at)
    const sequence = Number(id.slice(at + 1))
    const next = streams.get(name)?.next().value as ProofRow | undefined
    if (next === undefined) return bad(`row ${id} is not in the chunks`)
    if (next.sequence < sequence) return bad(`row ${name}:${next.sequence} is missing`)
    if (next.sequence > sequence) return bad(`row ${id} is not in the chunks at its place`)
    if (!isSame(next, line)) return bad(`row ${id} is not what its chunk says`)
    count++
  }
  for (const [name, stream] of streams) {
    const left = stream.next().value as ProofRow | undefined
    if (left !== undefined) return bad(`row ${name}:${left.sequence} is missing`)
  }
  return { check: 'signed rows', isGood: true, detail: `${count} rows are what their chunks say` }
}

function isSame(row: ProofRow, line: string): boolean {
  try {
    return row.matches(line)
  } catch {
    return false
  }
}
