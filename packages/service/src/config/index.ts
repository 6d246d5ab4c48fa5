/** The configuration file, its variables and their check. */
export { loadConfig } from './load.ts'
export { configKeys, type Config } from './settings.ts'
