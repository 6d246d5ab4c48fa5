/** A subscribe or unsubscribe message of a market channel client. */
export type SubscribeRequest = {
  readonly operation: 'subscribe' | 'unsubscribe'
  readonly assets: readonly string[]
  /** Also send best prices, new markets and resolutions; undefined keeps the current setting. */
  readonly custom: boolean | undefined
  /** Send the initial books. */
  readonly dump: boolean
}

/** Parses a client message; undefined where the venue would reject it. */
export function parseSubscribeRequest(text: string): SubscribeRequest | undefined {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return undefined
  const fields = said as Readonly<Record<string, unknown>>
  const operation = operationOf(fields)
  const { assets_ids: assets, custom_feature_enabled: custom, initial_dump: dump } = fields
  if (operation === undefined || !isTexts(assets)) return undefined
  return {
    operation,
    assets: [...new Set(assets)],
    custom: typeof custom === 'boolean' ? custom : undefined,
    dump: dump !== false,
  }
}

// The first message names the channel, later ones an operation.
function operationOf({
  type,
  operation,
}: Readonly<Record<string, unknown>>): SubscribeRequest['operation'] | undefined {
  if (operation === 'subscribe' || operation === 'unsubscribe') return operation
  if (operation !== undefined || typeof type !== 'string') return undefined
  return type.toLowerCase() === 'market' ? 'subscribe' : undefined
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
