/** Error codes of venue B's socket that the connector acts on (AsyncAPI document, autumn 2026). */
export const CODES = {
  unknownChannel: 8,
  noAuthentication: 9,
  unsupportedAction: 13,
  commandTimeout: 18,
  marketLimit: 26,
  tooManyCommands: 27,
} as const

/** After these the subscription is no more: not known to the venue, channel error, buffer overflow. */
export const ENDING_CODES: ReadonlySet<unknown> = new Set([7, 10, 25])

/** Messages of the lifecycle channel, which tells of all markets of the venue. */
export const LIFE_TYPES: ReadonlySet<unknown> = new Set([
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
])

/** A list of texts, or undefined where it is none. */
export function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const texts = value.filter((one): one is string => typeof one === 'string')
  return texts.length === value.length ? texts : undefined
}

/** The JSON of a frame, undefined where it is none. */
export function parseFrame(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  } catch {
    return undefined
  }
}

/** True for what can be a sid or a seq. */
export function isCounter(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
