import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { JsonSchema } from '@priorbook/sdk/wire'

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
const compiled = new WeakMap<JsonSchema, ValidateFunction>()

/** Where a value breaks a schema; nothing when it fits. */
export function violations(schema: JsonSchema | undefined, value: unknown): string[] {
  if (schema === undefined) return ['there is no schema']
  let fits = compiled.get(schema)
  if (fits === undefined) compiled.set(schema, (fits = ajv.compile(schema)))
  if (fits(value)) return []
  return (fits.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
