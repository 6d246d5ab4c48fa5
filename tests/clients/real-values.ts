type Parameter = { readonly name: string; readonly in: string; readonly schema: object }
type Operation = {
  readonly operationId: string
  parameters?: readonly (Parameter | { readonly $ref: string })[]
}

/** An OpenAPI document, as far as parameters go. */
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> }
}

/** What exists on a server: values by parameter, and market ids by venue. */
export type RealValues = {
  readonly byName: Readonly<Record<string, readonly string[]>>
  readonly markets: Readonly<Record<string, readonly string[]>>
}

/**
 * Offers existing values beside all others that a parameter may have: what is valid stays valid, and nothing else
 * becomes so, but generated requests find something.
 */
export function offerRealValues({ paths, components }: Document, real: RealValues): void {
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    operation.parameters = (operation.parameters ?? []).map((given) => {
      const parameter =
        '$ref' in given ? components.parameters[given.$ref.split('/').at(-1)!]! : given
      const values = valuesOf(operation.operationId, parameter, real)
      if (values === undefined) return parameter
      return { ...parameter, schema: { anyOf: [{ enum: values }, parameter.schema] } }
    })
  }
}

// Operations of one venue have its name first, such as `venueb_trades`.
function valuesOf(
  operation: string,
  { name, in: place }: Parameter,
  { byName, markets }: RealValues,
): readonly string[] | undefined {
  const isMarket = name === 'market_id' || name === 'market_ticker' || name === 'market'
  if (!isMarket) return byName[name]
  if (place === 'path') return markets[operation.split('_')[0]!]
  return Object.values(markets).flat()
}
