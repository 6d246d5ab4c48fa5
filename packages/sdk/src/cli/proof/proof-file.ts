import { writeFile } from 'node:fs/promises'
import type { DayProofJson } from '../../wire/index.ts'
import { CliError } from '../errors.ts'
import { readBeside } from '../read-beside.ts'

const FORMAT = 'priorbook-proof/1'

/** The content of `FILE.proof.json` beside a downloaded file. */
export type ProofFile = {
  readonly format: typeof FORMAT
  readonly url: string
  /** How rows of the file are written, by the parameters of the download. */
  readonly style: RowStyle
  /** The name of a tape file beside it with the chunks of the rows; null where the file has them itself. */
  readonly evidence: string | null
  /** One entry for each market and day, as `/v3/proofs/{day}` answered. */
  readonly days: readonly DayProofJson[]
  /** Markets and days without a root or without its leaves, with the reason. */
  readonly unsigned: readonly UnsignedDay[]
}

/** A day of a market that no root covers. */
export type UnsignedDay = {
  readonly day: string
  readonly venue: string
  readonly market_id: string
  readonly reason: string
}

/** How rows of NDJSON are written. */
export type RowStyle = {
  readonly depth?: number | undefined
  readonly include_orderbook?: boolean | undefined
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
}

/** Where the proof of a file is. */
export function proofPath(path: string): string {
  return `${path}.proof.json`
}

/** Writes the proof of a file. */
export async function writeProof(path: string, proof: Omit<ProofFile, 'format'>): Promise<void> {
  await writeFile(path, `${JSON.stringify({ format: FORMAT, ...proof }, null, 1)}\n`)
}

/** Reads the proof of a file; undefined where there is none. */
export async function readProof(path: string): Promise<ProofFile | undefined> {
  const text = await readBeside(path)
  if (text === undefined) return undefined
  try {
    const proof = JSON.parse(text) as ProofFile
    if (proof.format === FORMAT && Array.isArray(proof.days)) return proof
  } catch {
    // Falls through to the error below.
  }
  throw new CliError('incomplete', `${path} is not a proof`, 'Download it again with --proof.')
}
