import type { Json } from './market.ts'

/** A member of a native record; undefined where it is absent or null. */
export function nativeField(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [key: string]: Json })[name] ?? undefined
}

/** A text of a native record; undefined where it is absent, empty or not text. */
export function nativeText(value: Json | undefined, name: string): string | undefined {
  const text = nativeField(value, name)
  return typeof text === 'string' && text !== '' ? text : undefined
}
