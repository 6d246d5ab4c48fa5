import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { CliError } from './errors.ts'

/** Refuses a file whose folder is missing; `option` names the place in the command. */
export function requireFolder(path: string, option: string): void {
  const folder = dirname(path)
  if (existsSync(folder)) return
  const hint = `Make it first, or choose another place with ${option}.`
  throw new CliError('not_found', `there is no folder ${folder}`, hint)
}
