/** Command lines: commands as values, typed options, help, errors and progress. Needs Node. */
export type { Command, CommandContext, Explained, Program } from './command.ts'
export { endWithOutput, UNREAD_STATUS } from './end-with-output.ts'
export { commandHelp, optionLines, programHelp, usageOf } from './help.ts'
export { createProcessIo, printLines, type CommandIo } from './io.ts'
export {
  amountOption,
  flagOption,
  parseAmount,
  parsedOption,
  parseOptions,
  parseSpan,
  textOption,
  textsOption,
  timeOption,
  toInstant,
  UsageError,
  wholeOption,
  wordOption,
  type Option,
  type OptionTable,
  type OptionValues,
} from './option.ts'
export { packageVersion } from './package-version.ts'
export { ProgressBar, progressBar } from './progress-bar.ts'
export { invoke, runProgram } from './run-program.ts'
export {
  alignNumbers,
  cut,
  fitParts,
  layTable,
  printBytes,
  printCount,
  printSpan,
  toPlain,
  toPlainLines,
  type Column,
} from './text.ts'
