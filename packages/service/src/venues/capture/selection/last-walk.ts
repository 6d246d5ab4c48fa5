import type { ConnectorContext } from '../contract.ts'
import { areLasting } from './rules.ts'
import { rulesNumber, type SelectionOptions } from './selection.ts'

/**
 * When the last walk over the venue began, in wall milliseconds, where a restart may go on after it: by the same
 * rules, not in the future, and none of them about what changes with time.
 */
export function lastWalkMs(
  walked: ConnectorContext['walked'],
  selection: SelectionOptions,
  nowMs: number,
): number | undefined {
  if (walked === undefined || walked.rules !== rulesNumber(selection)) return undefined
  const atMs = walked.at / 1000
  return atMs <= nowMs && areLasting(selection.rules) ? atMs : undefined
}
