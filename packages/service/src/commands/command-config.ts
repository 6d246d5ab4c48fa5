import { existsSync } from 'node:fs'
import { textOption } from '@priorbook/sdk/command-line'
import { configKeys, loadConfig, type Config } from '../config/index.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import type { ServerExtra } from './command.ts'

const CONFIG_FILE = 'priorbook.json'

/** The option of commands that read the configuration. */
export const CONFIG_OPTION = {
  config: textOption('FILE', `The configuration file; ${CONFIG_FILE} by default, if it exists.`),
}

/** Loads the configuration of a call; `given` are values of its options, by key. */
export function readConfig(
  named: string | undefined,
  given: ReadonlyMap<string, string> = new Map(),
): Config {
  const file = named ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined)
  return loadConfig({ env: process.env, given, ...(file === undefined ? {} : { file }) })
}

/** The data folder of a call. Emulated data never share a folder with real data. */
export function dataFolderOf(
  { data, isDataGiven }: ServerExtra,
  config: Config,
  isEmulated: boolean,
): DataFolder {
  if (isDataGiven) return data
  return toDataFolder(isEmulated && config.data === 'data' ? 'data/emulator' : config.data)
}

/** True when a port is the default one: it was not chosen by the operator, so another port will do. */
export function isDefaultPort(key: 'api.port' | 'ops.port', port: number): boolean {
  return configKeys().some(({ path, default: usual }) => path.join('.') === key && usual === port)
}
