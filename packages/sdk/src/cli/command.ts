import type { PriorbookClient } from '../client/index.ts'
import type { CliIo } from './io.ts'

/** One option of a command, or one of all of them. */
export type Option = {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The placeholder of the value in the help, such as `TIME`. */
  readonly value?: string
  /** Its allowed values, for checks and completion. */
  readonly words?: readonly string[]
  readonly about: string
}

/** Values of options by name. */
export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

/** What a command gets. */
export type CommandContext = {
  readonly io: CliIo
  readonly args: readonly string[]
  readonly options: OptionValues
  /** JSON lines instead of tables. */
  readonly isJson: boolean
  /** Ends with Ctrl-C. */
  readonly signal: AbortSignal
  /** Created on first use: some commands need no server. */
  client(): PriorbookClient
}

/** A command as a value: parsing, help, completion and docs read it. */
export type Command = {
  readonly name: string
  /** The arguments after the name, such as `[QUERY]`. */
  readonly args: string
  readonly about: string
  /** A paragraph below the usage line. */
  readonly more?: string
  readonly options: Readonly<Record<string, Option>>
  readonly examples: readonly string[]
  readonly run: (context: CommandContext) => Promise<void>
}

/** Options that every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, Option>> = {
  url: {
    type: 'string',
    value: 'URL',
    about: 'The service; PRIORBOOK_URL, else http://127.0.0.1:8780.',
  },
  key: {
    type: 'string',
    value: 'KEY',
    about: 'The API key; better in PRIORBOOK_KEY, where no list of processes shows it.',
  },
  demo: { type: 'boolean', about: 'Read demonstration data, without a key.' },
  json: { type: 'boolean', about: 'One JSON object per line instead of tables.' },
  'no-color': { type: 'boolean', about: 'No colours; NO_COLOR does the same.' },
  quiet: { type: 'boolean', short: 'q', about: 'No notices and no progress.' },
  help: { type: 'boolean', short: 'h', about: 'Show this.' },
}

/** Options of commands that take a range of time. */
export const RANGE_OPTIONS: Readonly<Record<string, Option>> = {
  start: { type: 'string', value: 'TIME', about: 'From this received time on.' },
  end: { type: 'string', value: 'TIME', about: 'Up to, but without, this received time.' },
}
