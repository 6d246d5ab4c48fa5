import type { DecimalJson } from './json-values.ts'

/** The part of a market record that its title may leave out. */
type Named = {
  readonly title: string | null
  readonly strike?: DecimalJson | null
  readonly event?: { readonly outcome: string | null } | null
}

/**
 * What tells a market from others with the same title: the venue's own words for its outcome, or its strike; undefined
 * where the title says it.
 */
export function particularOf({ title, strike, event }: Named): string | undefined {
  const said = event?.outcome ?? ''
  if (said !== '') return title?.includes(said) === true ? undefined : said
  if (strike === undefined || strike === null) return undefined
  return title?.includes(String(strike)) === true ? undefined : `strike ${strike}`
}
