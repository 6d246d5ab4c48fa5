import { existsSync } from 'node:fs'
import {
  flagOption,
  printLines,
  textOption,
  UsageError,
  wordOption,
} from '../../command-line/index.ts'
import { parseMicros, printScaled } from '../../domain/index.ts'
import type { ToolFile } from '../../convert/step.ts'
import { TOOL_FORMATS } from '../../wire/index.ts'
import { defineCommand, printJson } from '../command.ts'
import { CliError } from '../errors.ts'
import { RANGE_OPTIONS } from '../options.ts'

/** `convert`: downloaded files as files of other tools. */
export const CONVERT = defineCommand({
  name: 'convert',
  args: 'FILE...',
  about: 'Convert downloads into the files of other tools.',
  more:
    'Files are downloads of the formats tape and ndjson, of any markets: books, and trades if there are ' +
    'any. A gap empties the book in the way of the tool, until the book is known again; nothing is bridged.',
  options: {
    to: wordOption(TOOL_FORMATS, 'The tool.', { value: 'TOOL' }),
    output: textOption('FOLDER', 'The folder for the files; by default the name of the tool.', 'o'),
    ...RANGE_OPTIONS,
    force: flagOption('Write into a folder that has files.'),
  },
  examples: [
    'priorbook convert books.pbx trades.pbx --to hftbacktest -o events/',
    'priorbook convert books.pbx trades.pbx --to nautilus -o catalog/',
    'priorbook convert books.pbx trades.pbx --to tardis -o csv/',
  ],
  async run(context) {
    const { args, options, isJson, io, signal } = context
    const { to, start, end } = options
    if (args.length === 0) throw new UsageError('no file is named')
    if (to === undefined)
      throw new UsageError('--to is missing', `It is ${TOOL_FORMATS.join(', ')}.`)
    const missing = args.find((name) => !existsSync(name))
    if (missing !== undefined) throw new CliError('not_found', `there is no ${missing}`)
    const folder = options.output ?? to
    // Only here: it needs zstd, which Node has since 22.15.
    const { replayFiles } = await import('../../replay/replay-node.ts')
    const { convertReplay } = await import('../../convert/convert-files-node.ts')
    const replay = replayFiles(args, {
      signal,
      ...(start === undefined ? {} : { start: parseMicros(start) }),
      ...(end === undefined ? {} : { end: parseMicros(end) }),
    })
    const files = await convertReplay({ replay, tool: to, folder, isForced: options.force })
    if (files.length === 0) throw new UsageError('the files have no books and no trades')
    if (isJson) await printJson(context, { tool: to, folder, files: files.map(describe) })
    else
      await printLines(
        io,
        files.map(({ path, rows }) => `${folder}/${path}: ${rows} rows`),
      )
  },
})

function describe({ path, rows, instrument }: ToolFile): Readonly<Record<string, unknown>> {
  const { venue, marketId, key, outcome, priceDecimals, sizeDecimals } = instrument
  return {
    path,
    rows,
    venue,
    market_id: marketId,
    instrument: key,
    outcome: outcome ?? null,
    tick_size: printScaled(1, priceDecimals),
    lot_size: printScaled(1, sizeDecimals),
  }
}
