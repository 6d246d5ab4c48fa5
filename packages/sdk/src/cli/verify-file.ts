import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { crc32 } from 'node:zlib'
import { isVenueId, VENUE_IDS } from '../domain/index.ts'
import {
  differenceOf,
  type FileFormat,
  type FileReceiptJson,
  type LadderJson,
} from '../client/index.ts'
import { UsageError } from '../command-line/index.ts'
import { fileIn, hashFile, type SavedManifest } from './file-proof.ts'
import { RowChecks, type FileRow, type Finding } from './row-checks.ts'
import { verifyProof, type ProofCheckOrder, type ProofVerdict } from './proof/verify-proof.ts'
import { splitCells } from '../wire/index.ts'
import { verifyTape } from './verify-tape.ts'

/** The results of all checks of a file. */
export type Verdict = {
  readonly format: FileFormat
  readonly findings: readonly Finding[]
  readonly rows: RowChecks
  readonly isGood: boolean
  /** Present where a proof was given. */
  readonly proved?: ProofVerdict
}

/** A proof to check a file against. */
export type GivenProof = Pick<ProofCheckOrder, 'proof' | 'proofFile' | 'key'>

/** Checks a file against its manifest, where there is one, and its rows with the six checks. */
export async function verifyFile(
  path: string,
  saved: SavedManifest | undefined,
  signal: AbortSignal,
  proof?: GivenProof,
): Promise<Verdict> {
  const format = await formatOf(path)
  const findings: Finding[] = []
  if (saved !== undefined) {
    const file = fileIn(saved.manifest, format)
    const { sha256, bytes } = await hashFile(path, signal)
    findings.push(
      compare('bytes', file.bytes, bytes),
      compare('sha256', file.sha256 ?? 'unknown', sha256),
    )
  }
  const rows = new RowChecks()
  const receipt = saved?.manifest.receipt ?? undefined
  const hasRows = format === 'ndjson' || format === 'csv' || format === 'tape'
  if (format === 'ndjson') await readNdjson(path, rows, findings, signal)
  else if (format === 'csv') await readCsv(path, rows, findings, signal)
  else if (format === 'tape') await verifyTape(path, rows, findings, receipt, signal)
  if (hasRows) {
    if (receipt !== undefined) findings.push(compareRows('receipt', receipt, rows))
    findings.push({
      check: 'row checks',
      isGood: rows.faultCount === 0,
      detail:
        rows.faultCount === 0
          ? `${rows.rows} rows, ${rows.books} books pass`
          : `${rows.faultCount} faults in ${rows.rows} rows`,
    })
  } else if (saved === undefined) {
    throw new UsageError(
      `${path} is ${format}, which proves nothing by itself, and no manifest is beside it`,
      'Name its manifest with --manifest.',
    )
  }
  const proved =
    proof === undefined ? undefined : await verifyProof({ ...proof, path, format, signal })
  findings.push(...(proved?.findings ?? []))
  const isGood = findings.every((one) => one.isGood)
  return { format, findings, rows, isGood, ...(proved === undefined ? {} : { proved }) }
}

function compare(check: string, expected: string | number, found: string | number): Finding {
  const isGood = expected === found
  return {
    check,
    isGood,
    detail: isGood ? String(found) : `expected ${expected}, found ${found}`,
  }
}

// Files of version 0.1 have a receipt without instruments: then only the number of rows is compared.
function compareRows(
  check: string,
  receipt: Pick<FileReceiptJson, 'rows' | 'instruments'>,
  { received }: RowChecks,
): Finding {
  const count = received.count()
  if ((receipt.instruments as unknown) === undefined)
    return compare(check, receipt.rows, count.rows)
  const difference = differenceOf(receipt, { ...count, disorder: undefined })
  const detail = difference ?? `${count.rows} rows of ${count.instruments.length} instruments`
  return { check, isGood: difference === undefined, detail }
}

/** Finds the format by the first bytes of the file; its name does not matter. */
async function formatOf(path: string): Promise<FileFormat> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8), 0, 8, 0)
    const head = buffer.subarray(0, bytesRead).toString('latin1')
    if (head.startsWith('PBX1')) return 'tape'
    if (head.startsWith('PAR1')) return 'parquet'
    if (head.startsWith('ÿÿÿÿ')) return 'arrow'
    if (head.startsWith('{')) return 'ndjson'
    if (head.startsWith('id,')) return 'csv'
  } finally {
    await file.close()
  }
  throw new UsageError(`${path} is not a file that Priorbook downloads`)
}

async function readNdjson(
  path: string,
  rows: RowChecks,
  findings: Finding[],
  signal: AbortSignal,
): Promise<void> {
  let check = 0
  let receipt: Readonly<Record<string, unknown>> | undefined
  let isAfter = false
  let wrong: string | undefined
  let number = 0
  for await (const line of linesOf(path, signal)) {
    number++
    if (receipt !== undefined) isAfter = true
    let value: Readonly<Record<string, unknown>>
    try {
      value = JSON.parse(line) as Readonly<Record<string, unknown>>
    } catch {
      wrong ??= `line ${number} is not JSON: the file was cut or changed`
      continue
    }
    if (value['type'] === 'receipt') receipt = value
    else check = crc32(`${line}\n`, check)
    if (ROW_TYPES.has(String(value['type']))) {
      addRow(rows, value, number)
    }
  }
  if (wrong !== undefined) findings.push({ check: 'lines', isGood: false, detail: wrong })
  if (receipt === undefined || isAfter) {
    const detail = isAfter
      ? 'lines follow the receipt'
      : 'the file has no receipt: its end is missing'
    findings.push({ check: 'receipt', isGood: false, detail })
    return
  }
  findings.push(
    compareRows('receipt rows', receipt as FileReceiptJson, rows),
    compare('receipt crc32', receipt['crc32'] as string, check.toString(16).padStart(8, '0')),
  )
}

async function readCsv(
  path: string,
  rows: RowChecks,
  findings: Finding[],
  signal: AbortSignal,
): Promise<void> {
  let columns: readonly string[] | undefined
  let number = 0
  for await (const line of linesOf(path, signal)) {
    number++
    const cells = splitCells(line)
    if (columns === undefined) {
      columns = cells
      continue
    }
    if (cells.length !== columns.length) {
      const detail = `line ${number} has ${cells.length} cells instead of ${columns.length}`
      findings.push({ check: 'lines', isGood: false, detail })
      break
    }
    const value = Object.fromEntries(columns.map((name, index) => [name, cells[index]!]))
    addRow(rows, { ...value, sequence: Number(value['sequence']), ...laddersOf(value) }, number)
  }
}

function laddersOf(cells: Readonly<Record<string, string>>): Record<string, LadderJson> {
  const ladders: Record<string, LadderJson> = {}
  for (const side of ['bids', 'asks']) {
    const price = cells[`${side}_price`]
    const size = cells[`${side}_size`]
    if (price === undefined || size === undefined || price === '') continue
    try {
      ladders[side] = { price: JSON.parse(price) as string[], size: JSON.parse(size) as string[] }
    } catch {
      ladders[side] = { price: ['?'], size: [] }
    }
  }
  return ladders
}

function addRow(rows: RowChecks, value: Readonly<Record<string, unknown>>, line: number): void {
  const { id, venue, sequence } = value
  // Reference prices belong to an asset instead of a market.
  const market = value['market_id'] ?? value['asset']
  const isWhole =
    typeof id === 'string' &&
    isVenueId(venue) &&
    typeof market === 'string' &&
    Number.isSafeInteger(sequence)
  if (isWhole) rows.add(value as unknown as FileRow)
  else {
    const detail = `line ${line} has no id, venue (${VENUE_IDS.join(', ')}), market or sequence`
    rows.blame(typeof id === 'string' ? id : `line ${line}`, 'missing_identity', detail)
  }
}

const ROW_TYPES: ReadonlySet<string> = new Set(['book', 'trade', 'sample', 'history', 'reference'])

function linesOf(path: string, signal: AbortSignal): AsyncIterable<string> {
  const input = createReadStream(path, { highWaterMark: 1 << 20, signal })
  return createInterface({ input, crlfDelay: Infinity })
}
