/** What a client of the market channel asks for. */
export type SubscribeRequest = {
  readonly operation: 'subscribe' | 'unsubscribe'
  readonly assets: readonly string[]
  /** Whether it wants the news beyond books and trades; undefined leaves it as it was. */
  readonly custom: boolean | undefined
  /** Whether it wants books to start from. */
  readonly dump: boolean
}

/** Reads a message of a client; undefined where the venue would not take it. */
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
