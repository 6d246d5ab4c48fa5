import { printLines, textOption, UsageError } from '../../command-line/index.ts'
import { printMicros, type Micros } from '../../domain/index.ts'
import { defineCommand, printJson } from '../command.ts'
import { CliError } from '../errors.ts'
import { manifestPath, readSavedManifest } from '../file-proof.ts'
import { proofPath, readProof } from '../proof/proof-file.ts'
import type { ProofVerdict } from '../proof/verify-proof.ts'
import { verifyFile, type GivenProof } from '../verify-file.ts'

/** `verify`: proves that a downloaded file is complete and its rows are valid. */
export const VERIFY = defineCommand({
  name: 'verify',
  args: 'FILE',
  mostArgs: 1,
  about: 'Check a downloaded file against its manifest, and its rows against the six checks.',
  more:
    'Needs no server. The manifest is FILE.manifest.json where none is named, and the proof is FILE.proof.json: ' +
    'download --proof saves it. NDJSON and tape also carry ' +
    'a receipt of their own; the rows of Parquet and Arrow files are not read, their bytes are hashed.',
  options: {
    manifest: textOption('FILE', 'The manifest to compare with.'),
    proof: textOption('FILE', 'The signed roots to check the rows against.'),
    'proof-key': textOption('HEX', 'The public key that must have signed them.'),
  },
  examples: [
    'priorbook verify venueb_KXBTC15M_books_2026-08-11.ndjson',
    'priorbook verify books.pbx --proof books.pbx.proof.json --proof-key 4c1f…',
    'priorbook verify books.parquet --manifest books.parquet.manifest.json --json',
  ],
  async run(context) {
    const { args, options, io, isJson, signal } = context
    const [path] = args
    if (path === undefined) {
      throw new UsageError('a file is missing', 'Such as priorbook verify books.ndjson.')
    }
    const named = options.manifest
    const saved = await readSavedManifest(named ?? manifestPath(path))
    if (named !== undefined && saved === undefined) {
      throw new CliError('not_found', `there is no ${named}`)
    }
    const proof = await givenProof(path, options.proof, options['proof-key'])
    const verdict = await verifyFile(path, saved, signal, proof)
    const { findings, rows, isGood, format, proved } = verdict
    if (isJson) {
      await printJson(context, {
        path,
        format,
        is_good: isGood,
        has_manifest: saved !== undefined,
        rows: rows.rows,
        books: rows.books,
        findings: findings.map((one) => ({
          check: one.check,
          is_good: one.isGood,
          detail: one.detail,
        })),
        fault_count: rows.faultCount,
        faults: rows.faults,
        ...(proved === undefined ? {} : { proof: proofJson(proved) }),
      })
    } else {
      const lines = findings.map(({ check, isGood: isFine, detail }) => {
        const word = isFine ? io.paint('green', 'good') : io.paint('red', 'BAD ')
        return `${word}  ${check.padEnd(13)}  ${detail}`
      })
      const faults = rows.faults
        .slice(0, 10)
        .map(({ id, code, detail }) => `      ${id}: ${code}: ${detail}`)
      await printLines(io, [...lines, ...faults, ...proofLines(proved)])
    }
    if (!isGood) {
      const bad = findings.filter((one) => !one.isGood).map(({ check }) => check)
      throw new CliError(
        'incomplete',
        `${path} is not what it should be: ${bad.join(', ')}`,
        'Download it again with priorbook download --force.',
      )
    }
  },
})

async function givenProof(
  path: string,
  named: string | undefined,
  key: string | undefined,
): Promise<GivenProof | undefined> {
  if (key !== undefined && !/^[0-9a-f]{64}$/.test(key)) {
    throw new UsageError('--proof-key takes the 64 hexadecimal digits of a public key')
  }
  const proofFile = named ?? proofPath(path)
  const proof = await readProof(proofFile)
  if (proof !== undefined) return { proof, proofFile, key }
  if (named === undefined && key === undefined) return undefined
  throw new CliError('not_found', `there is no ${proofFile}`, 'Download it with --proof.')
}

function proofJson(proved: ProofVerdict): object {
  return {
    keys: proved.keys,
    is_key_given: proved.isKeyGiven,
    days: proved.days,
    range: rangeOf(proved),
    covered_rows: proved.coveredRows,
    uncovered: proved.uncovered,
  }
}

function rangeOf({ range }: ProofVerdict): object | null {
  if (range === undefined) return null
  const text = (time: number): string => printMicros(time as Micros)
  return { start_time: text(range.start), end_time: text(range.end) }
}

function proofLines(proved: ProofVerdict | undefined): string[] {
  if (proved === undefined) return []
  const rows = proved.uncovered.reduce((sum, one) => sum + one.rows, 0)
  const total = `${proved.coveredRows} rows are covered by signed roots, ${rows} are not`
  const shown = proved.uncovered.slice(0, 20).map(({ series, first, last, reason }) => {
    return `      ${series} rows ${first}–${last}: ${reason}`
  })
  return [total, ...shown]
}
