import { Errors } from 'typebox/value'
import type { TSchema } from 'typebox'

/** Where a value breaks a schema; nothing when it fits. */
export function violations(schema: TSchema | undefined, value: unknown): string[] {
  if (schema === undefined) return ['there is no schema']
  return [...Errors(schema, value)].map(({ instancePath, message }) => `${instancePath} ${message}`)
}
