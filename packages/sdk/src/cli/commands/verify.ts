import { printLines, textOption, UsageError } from '../../command-line/index.ts'
import { defineCommand, printJson } from '../command.ts'
import { CliError } from '../errors.ts'
import { manifestPath, readSavedManifest } from '../file-proof.ts'
import { verifyFile } from '../verify-file.ts'

/** `verify`: proves that a downloaded file is complete and its rows are valid. */
export const VERIFY = defineCommand({
  name: 'verify',
  args: 'FILE',
  mostArgs: 1,
  about: 'Check a downloaded file against its manifest, and its rows against the six checks.',
  more:
    'Needs no server. The manifest is FILE.manifest.json where none is named. NDJSON and tape also carry ' +
    'a receipt of their own; the rows of Parquet and Arrow files are not read, their bytes are hashed.',
  options: {
    manifest: textOption('FILE', 'The manifest to compare with.'),
  },
  examples: [
    'priorbook verify venueb_KXBTC15M_books_2026-08-11.ndjson',
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
    const { findings, rows, isGood, format } = await verifyFile(path, saved, signal)
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
      })
    } else {
      const lines = findings.map(({ check, isGood: isFine, detail }) => {
        const word = isFine ? io.paint('green', 'good') : io.paint('red', 'BAD ')
        return `${word}  ${check.padEnd(13)}  ${detail}`
      })
      const faults = rows.faults
        .slice(0, 10)
        .map(({ id, code, detail }) => `      ${id}: ${code}: ${detail}`)
      await printLines(io, [...lines, ...faults])
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
