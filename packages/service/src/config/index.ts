/** The configuration file, its variables and their check. */
export { loadConfig } from './load.ts'
export { CONFIG_SCHEMA, configKeys, type Config, type ConfigKey } from './schema.ts'
