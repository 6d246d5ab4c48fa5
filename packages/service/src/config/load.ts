import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { PriorbookError } from '@priorbook/sdk/domain'
import { configKeys, type Config, type ConfigKey } from './settings.ts'

type Draft = { [name: string]: unknown }

/**
 * Loads the configuration: defaults, overridden by the file, the environment and the command line. An
 * error names the wrong value, where it was set and what is allowed.
 */
export function loadConfig(options: {
  readonly file?: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Values by path, such as `upstream` or `ops.port`, as text. */
  readonly given?: ReadonlyMap<string, string>
}): Config {
  const keys = configKeys()
  const config: Draft = {}
  for (const key of keys) put(config, key.path, structuredClone(key.default))
  if (options.file !== undefined) overlay(config, readFile(options.file), [], options.file)
  for (const key of keys) {
    const text = options.env[key.variable]
    if (text !== undefined) put(config, key.path, fromText(key, text, key.variable))
    const name = key.path.join('.')
    const given = options.given?.get(name)
    if (given !== undefined) put(config, key.path, fromText(key, given, name))
  }
  for (const { must, path, description } of keys) {
    const value = valueAt(config, path)
    const { issues } = v.safeParse(must, value)
    if (issues === undefined) continue
    const said = JSON.stringify(value)?.slice(0, 80) ?? 'absent'
    throw new PriorbookError(
      'invalid_config',
      `${path.join('.')} ${issues[0].message} (${description} It is ${said}.)`,
    )
  }
  return config as Config
}

function readFile(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PriorbookError('invalid_config', `${file} cannot be read`, { cause })
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : ''
    throw new PriorbookError('invalid_config', `${file} is not JSON: ${why}`, { cause })
  }
}

function overlay(config: Draft, said: unknown, path: string[], file: string): void {
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    throw new PriorbookError(
      'invalid_config',
      `${file}: ${path.join('.') || 'it'} is not an object`,
    )
  }
  for (const [name, value] of Object.entries(said)) {
    if (!Object.hasOwn(config, name)) {
      const known = Object.keys(config).join(', ')
      const where = [...path, name].join('.')
      throw new PriorbookError('invalid_config', `${file}: there is no ${where}; known: ${known}`)
    }
    const part = config[name]
    if (typeof part === 'object' && part !== null && !Array.isArray(part)) {
      overlay(part as Draft, value, [...path, name], file)
    } else config[name] = value
  }
}

function fromText(key: ConfigKey, text: string, where: string): unknown {
  const { default: usual } = key
  if (key.fromText !== undefined) return key.fromText(text)
  if (Array.isArray(usual)) {
    const items = text.split(',').map((item) => item.trim())
    return items.filter((item) => item !== '')
  }
  switch (typeof usual) {
    case 'number': {
      const value = Number(text)
      if (text.trim() === '' || Number.isNaN(value)) {
        throw new PriorbookError(
          'invalid_config',
          `${where} is ${JSON.stringify(text)}, not a number`,
        )
      }
      return value
    }
    case 'boolean':
      if (text !== 'true' && text !== 'false') {
        throw new PriorbookError('invalid_config', `${where} must be true or false`)
      }
      return text === 'true'
    default:
      return text
  }
}

function put(config: Draft, path: readonly string[], value: unknown): void {
  let at = config
  for (const name of path.slice(0, -1)) at = (at[name] ??= {}) as Draft
  at[path.at(-1)!] = value
}

function valueAt(config: Draft, path: readonly string[]): unknown {
  let at: unknown = config
  for (const name of path) at = (at as Draft)[name]
  return at
}
