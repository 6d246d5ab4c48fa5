import { Problem } from '@priorbook/sdk/wire'

/** A stream that can be chosen by outcome or token. */
export type Chosen = {
  readonly outcome?: string | undefined
  readonly tokenId?: string | undefined
}

/** The streams that match the filters; refuses a label or token that the market does not have. */
export function chooseOutcomes<T extends Chosen>(
  all: readonly T[],
  query: { readonly outcome?: string | undefined; readonly token_id?: string | undefined },
): readonly T[] {
  let chosen = all
  const { outcome, token_id: token } = query
  if (outcome !== undefined) {
    const wanted = outcome.toLowerCase()
    chosen = chosen.filter((one) => one.outcome?.toLowerCase() === wanted)
    if (chosen.length === 0)
      throw none(
        'outcome',
        outcome,
        all.map((one) => one.outcome),
      )
  }
  if (token !== undefined) {
    const before = chosen
    chosen = chosen.filter((one) => one.tokenId === token)
    if (chosen.length === 0)
      throw none(
        'token_id',
        token,
        before.map((one) => one.tokenId),
      )
  }
  return chosen
}

function none(param: string, text: string, values: readonly (string | undefined)[]): Problem {
  const allowed = values.filter((value) => value !== undefined)
  return new Problem(
    'invalid_parameter',
    `the market has no ${param} ${JSON.stringify(text.slice(0, 80))}`,
    { param, allowed },
  )
}
