import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  flagOption,
  printBytes,
  printLines,
  printSpan,
  ProgressBar,
  textOption,
  UsageError,
  wordOption,
} from '../../command-line/index.ts'
import { FILE_FORMATS } from '../../wire/index.ts'
import { defineCommand, printJson, printNotices, type CliContext } from '../command.ts'
import { downloadFile, type DownloadEvents } from '../download-file.ts'
import { fileIn, fileNameIn } from '../file-proof.ts'
import { saveProof, type SavedProof } from '../proof/save-proof.ts'
import { scopeOf, SCOPE_OPTIONS } from '../options.ts'
import { requireFolder } from '../require-folder.ts'

/** `download`: a range as one file, proved by its manifest. */
export const DOWNLOAD = defineCommand({
  name: 'download',
  args: '[MARKET]',
  mostArgs: 1,
  about: 'Download a market, or a family of markets, as one file.',
  more:
    'The manifest comes first; then the file as FILE.part, checked and renamed at the end, with ' +
    'FILE.manifest.json beside it. Run the same command again after an interruption: it continues where it stopped.',
  options: {
    format: wordOption(FILE_FORMATS, 'ndjson by default.', {
      value: 'FORMAT',
      short: 'f',
    }),
    output: textOption('PATH', 'The file, or the folder for it.', 'o'),
    ...SCOPE_OPTIONS,
    proof: flagOption('Also save what proves the rows: the signed roots of their days.'),
    estimate: flagOption('Only print how many rows and bytes it would be.'),
    force: flagOption('Replace an existing file.'),
  },
  examples: [
    'priorbook download venueb:KXBTC15M-26AUG111515-15 --format parquet',
    'priorbook download --venue venueb --series KXBTC15M --day 2026-08-11 --format tape -o data/',
    'priorbook download venuec:0x5f… --dataset trades --format csv',
    'priorbook download venueb:KXBTC15M-26AUG111515-15 --format tape --proof',
  ],
  async run(context) {
    const { args, options, isJson, io, signal } = context
    const params = scopeOf(args[0], options)
    const { format = 'ndjson', output } = options
    const client = context.client()
    if (options.proof && format !== 'tape' && format !== 'ndjson') {
      throw new UsageError(`rows of ${format} cannot be proved`, 'Use --format tape or ndjson.')
    }
    if (options.estimate) {
      const asked = { ...params, formats: [format], estimate: true } as const
      const { data, notices } = await client.manifest(asked, { signal })
      printNotices(context, notices)
      const { bytes } = fileIn(data, format)
      const file_name = fileNameIn(data, format)
      const { rows, markets } = data
      if (isJson) await printJson(context, { file_name, rows, markets, bytes, is_estimate: true })
      else {
        const line = `${file_name}: about ${rows} rows of ${markets} markets, ${printBytes(bytes)}`
        await printLines(io, [line])
      }
      return
    }
    const began = performance.now()
    const done = await downloadFile(
      client,
      {
        params,
        format,
        path: (name) => placeOf(output, name),
        existing: options.force ? 'replace' : 'refuse',
        retries: 10,
        signal,
      },
      eventsOf(context),
    )
    const { path, file, saved, resumedAt, wasThere } = done
    const { rows, gap_count: gaps } = saved.manifest
    const proof =
      options.proof && (format === 'tape' || format === 'ndjson')
        ? await saveProof({
            client,
            path,
            format,
            params,
            saved,
            events: eventsOf(context),
            signal,
          })
        : undefined
    if (isJson) {
      const facts = { path, format, rows, gaps, bytes: file.bytes, sha256: file.sha256 }
      const more = proof === undefined ? {} : { proof }
      await printJson(context, { ...facts, resumed_at: resumedAt, was_there: wasThere, ...more })
      return
    }
    const how = wasThere
      ? 'it was there already'
      : `${printSpan(performance.now() - began)}, SHA-256 as announced`
    const line = `${path}: ${rows} rows, ${gaps} gaps, ${printBytes(file.bytes)}; ${how}`
    await printLines(io, [line, ...(proof === undefined ? [] : [proofLine(proof)])])
  },
})

function proofLine({ path, signed, unsigned }: SavedProof): string {
  const left = unsigned === 0 ? '' : `; ${unsigned} are not signed yet`
  return `${path}: the signed roots of ${signed} market days${left}`
}

// How often the progress is printed where standard error is not a terminal.
const LINE_MS = 10_000

function eventsOf(context: CliContext): DownloadEvents {
  const { io, isQuiet } = context
  const bar = isQuiet ? undefined : new ProgressBar(io, '', LINE_MS)
  const began = performance.now()
  let total = 0
  let from = 0
  const show = (bytes: number): void => {
    const line = transferText(bytes, total, from, performance.now() - began)
    if (bytes >= total) bar?.finish(bytes, total, line)
    else bar?.update(bytes, total, line)
  }
  return {
    onManifest({ bytes }, _saved, have) {
      if (have > 0 && !isQuiet) io.note(`going on after ${printBytes(have)}`)
      total = bytes
      from = have
      if (have < total) show(have)
    },
    onProgress: show,
    onBreak(error, bytes, delayMs) {
      if (isQuiet) return
      io.note(`\n${error.message} after ${printBytes(bytes)}; again in ${printSpan(delayMs)}`)
    },
    onNotices: (notices) => printNotices(context, notices),
  }
}

/** The bytes so far and in all, the rate, and the remaining time. */
export function transferText(bytes: number, total: number, from: number, ms: number): string {
  const rate = ((bytes - from) / Math.max(1, ms)) * 1000
  const left =
    rate > 0 && bytes < total ? `  ${printSpan(((total - bytes) / rate) * 1000)} left` : ''
  return `${printBytes(bytes)} of ${printBytes(total)}  ${printBytes(Math.round(rate))}/s${left}`
}

function placeOf(output: string | undefined, name: string): string {
  if (output === undefined) return name
  if (output === '-') {
    const hint = 'Name a file or a folder; priorbook replay prints the rows of a file.'
    throw new UsageError('a download is checked as a file, which standard output is not', hint)
  }
  const isFolder =
    /[/\\]$/.test(output) || statSync(output, { throwIfNoEntry: false })?.isDirectory()
  const path = isFolder === true ? join(output, name) : output
  requireFolder(path, '--output')
  return path
}
