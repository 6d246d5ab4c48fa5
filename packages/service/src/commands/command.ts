import {
  flagOption,
  printLines,
  textOption,
  type Command,
  type CommandContext,
  type OptionTable,
} from '@priorbook/sdk/command-line'
import type { DataFolder } from '../lib/data-folder.ts'

/** What `priorbook-server` adds to the context of its commands. */
export type ServerExtra = {
  readonly data: DataFolder
  /** True where `--data` names the folder. */
  readonly isDataGiven: boolean
  readonly isJson: boolean
}

/** What a command of `priorbook-server` gets. */
export type ServerContext<Options extends OptionTable = OptionTable> = CommandContext<Options> &
  ServerExtra

/** Options that every command takes. */
export const COMMON_OPTIONS = {
  data: textOption('DIR', 'The data folder; PRIORBOOK_DATA, else data.'),
  json: flagOption('Print one JSON object.'),
}

/** Defines a command of `priorbook-server`. It returns 1 where something needs attention. */
export function defineCommand<const Options extends OptionTable>(
  command: Command<ServerExtra, Options>,
): Command<ServerExtra, Options> {
  return command
}

/** Prints a result as JSON if requested, else as lines of text. */
export async function print(
  { io, isJson }: Pick<ServerContext, 'io' | 'isJson'>,
  value: unknown,
  lines: readonly string[],
): Promise<void> {
  if (isJson) await io.write(`${JSON.stringify(value)}\n`)
  else await printLines(io, lines)
}
