import { statSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_FORMATS, type FileFormat } from '../../client/index.ts'
import { textOf } from '../args.ts'
import type { Command, CommandContext } from '../command.ts'
import { downloadFile, type DownloadEvents } from '../download-file.ts'
import { fileIn } from '../file-proof.ts'
import { Progress } from '../progress.ts'
import { scopeOf, SCOPE_OPTIONS } from '../scope.ts'
import { printBytes, printJson, printLines, printSpan, tellNotices } from '../words.ts'

/** `download`: a range as one file, proved by its manifest. */
export const DOWNLOAD: Command = {
  name: 'download',
  args: '[MARKET]',
  about: 'Download a market, or a family of markets, as one file.',
  more:
    'The manifest comes first; then the file as FILE.part, checked and renamed at the end, with ' +
    'FILE.manifest.json beside it. Run the same command again after an interruption: it continues where it stopped.',
  options: {
    format: {
      type: 'string',
      short: 'f',
      value: 'FORMAT',
      words: FILE_FORMATS,
      about: 'ndjson by default.',
    },
    output: { type: 'string', short: 'o', value: 'PATH', about: 'The file, or the folder for it.' },
    ...SCOPE_OPTIONS,
    estimate: { type: 'boolean', about: 'Only say how many rows and bytes it would be.' },
    force: { type: 'boolean', about: 'Replace a file that is there.' },
  },
  examples: [
    'priorbook download venueb:KXBTC15M-26AUG111515-15 --format parquet',
    'priorbook download --venue venueb --series KXBTC15M --day 2026-08-11 --format tape -o data/',
    'priorbook download venuec:0x5f… --dataset trades --format csv',
  ],
  async run(context) {
    const { args, options, isJson, signal } = context
    const params = scopeOf(args, options, 'download')
    const format = (textOf(options, 'format') ?? 'ndjson') as FileFormat
    const client = context.client()
    if (options['estimate'] === true) {
      const asked = { ...params, formats: [format], estimate: true } as const
      const { data, notices } = await client.manifest(asked, { signal })
      tellNotices(context, notices)
      const { bytes, file_name } = fileIn(data, format)
      const { rows, markets } = data
      if (isJson) await printJson(context, { file_name, rows, markets, bytes, is_estimate: true })
      else {
        const line = `${file_name}: about ${rows} rows of ${markets} markets, ${printBytes(bytes)}`
        await printLines(context, [line])
      }
      return
    }
    const output = textOf(options, 'output')
    const began = performance.now()
    const done = await downloadFile(
      client,
      {
        params,
        format,
        path: (name) => placeOf(output, name),
        isForced: options['force'] === true,
        retries: 10,
        signal,
      },
      eventsOf(context),
    )
    const { path, file, saved, resumedAt, wasThere } = done
    const { rows, gap_count: gaps } = saved.manifest
    if (isJson) {
      const facts = { path, format, rows, gaps, bytes: file.bytes, sha256: file.sha256 }
      await printJson(context, { ...facts, resumed_at: resumedAt, was_there: wasThere })
      return
    }
    const how = wasThere
      ? 'it was there already'
      : `${printSpan(performance.now() - began)}, SHA-256 as announced`
    await printLines(context, [
      `${path}: ${rows} rows, ${gaps} gaps, ${printBytes(file.bytes)}; ${how}`,
    ])
  },
}

function eventsOf(context: CommandContext): DownloadEvents {
  const { io, options } = context
  const isQuiet = options['quiet'] === true
  let progress: Progress | undefined
  let total = 0
  return {
    onManifest({ bytes }, _saved, have) {
      if (have > 0 && !isQuiet) io.note(`going on after ${printBytes(have)}`)
      progress = new Progress(io, isQuiet, bytes, have)
      progress.show(have)
      total = bytes
    },
    onProgress(bytes) {
      if (bytes >= total) progress?.end(bytes)
      else progress?.show(bytes)
    },
    onBreak(error, bytes, delayMs) {
      if (isQuiet) return
      io.note(`\n${error.message} after ${printBytes(bytes)}; again in ${printSpan(delayMs)}`)
    },
    onNotices: (notices) => tellNotices(context, notices),
  }
}

function placeOf(output: string | undefined, name: string): string {
  if (output === undefined) return name
  const isFolder =
    /[/\\]$/.test(output) || statSync(output, { throwIfNoEntry: false })?.isDirectory()
  return isFolder === true ? join(output, name) : output
}
