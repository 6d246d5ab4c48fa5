import type { Command } from '../../command-line/index.ts'
import type { CliExtra } from '../command.ts'
import { ALERT } from './alert.ts'
import { BACKTEST } from './backtest.ts'
import { BOOK } from './book.ts'
import { COMPARE } from './compare.ts'
import { completionCommand } from './completion.ts'
import { CONVERT } from './convert.ts'
import { COVERAGE } from './coverage.ts'
import { DOWNLOAD } from './download.ts'
import { EVENTS } from './events.ts'
import { GAPS } from './gaps.ts'
import { MARKETS } from './markets.ts'
import { MCP } from './mcp.ts'
import { OVERLAP } from './overlap.ts'
import { PANELS } from './panels.ts'
import { PAPER } from './paper.ts'
import { PARITY } from './parity.ts'
import { RECONCILE } from './reconcile.ts'
import { REFERENCE } from './reference.ts'
import { REPLAY } from './replay.ts'
import { SIGNUP } from './signup.ts'
import { VERIFY } from './verify.ts'
import { WATCH } from './watch.ts'
import { WHOAMI } from './whoami.ts'

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command<CliExtra>[] = [
  MARKETS,
  EVENTS,
  BOOK,
  COMPARE,
  WATCH,
  ALERT,
  DOWNLOAD,
  VERIFY,
  CONVERT,
  OVERLAP,
  REPLAY,
  BACKTEST,
  PAPER,
  RECONCILE,
  GAPS,
  PARITY,
  REFERENCE,
  PANELS,
  COVERAGE,
  MCP,
  SIGNUP,
  WHOAMI,
  completionCommand(() => COMMANDS),
]
