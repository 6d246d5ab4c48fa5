import type { CommandIo } from './io.ts'
import type { OptionTable, OptionValues } from './option.ts'

/** What a command gets beside what its program adds. */
export type CommandContext<Options extends OptionTable = OptionTable> = {
  readonly io: CommandIo
  readonly args: readonly string[]
  readonly options: OptionValues<Options>
}

/** A command as a value: parsing, help, completion and docs read it. */
export type Command<Extra = unknown, Options extends OptionTable = OptionTable> = {
  readonly name: string
  /** The arguments after the name, such as `[QUERY]`. */
  readonly args: string
  /** Max number of arguments; any number where absent. */
  readonly mostArgs?: number
  readonly about: string
  /** A paragraph below the usage line. */
  readonly more?: string
  readonly options: Options
  readonly examples: readonly string[]
  /** Returns the exit status, or nothing for 0. */
  run(context: CommandContext<Options> & Extra): Promise<number | void>
}

/** Why a command failed, in plain words, and what to do about it. */
export type Explained = {
  /** The name of the exit status. */
  readonly exit: string
  readonly status: number
  readonly message: string
  readonly hint?: string | undefined
  readonly code?: string | undefined
  readonly requestId?: string | undefined
}

/** A program: its commands, the options that all of them take, and what it adds to their context. */
export type Program<Extra = unknown, Common extends OptionTable = OptionTable> = {
  readonly name: string
  readonly version: string
  readonly about: string
  readonly common: Common
  /** The last paragraphs of the help. */
  readonly notes: string
  /** Commands by name, in the order of the help; each is loaded when it is needed. */
  readonly commands: Readonly<Record<string, () => Promise<Command<Extra>>>>
  contextOf(common: OptionValues<Common>, io: CommandIo): Extra
  /** Returns undefined for an error that is a fault of the program. */
  explain(error: unknown): Explained | undefined
}
