import { setting, texts, whole, type Setting, type SettingValues } from '../../../lib/setting.ts'
import { selectSetting, toRules, type Rule, type Selected } from './rules.ts'
import type { SelectionOptions } from './selection.ts'

/** The settings of a venue whose markets are selected by rules. */
export type SelectionSettings = {
  readonly select: Setting<Selected>
  readonly pinned: Setting<string[]>
  readonly fullBooks: Setting<number>
  readonly polledBooks: Setting<number>
}

/** Defines them. `defaults` says what is recorded by default, `ids` what a market is named by. */
export function selectionSettings(
  defaults: string,
  ids: string,
  bounds: SelectionOptions['bounds'],
): SelectionSettings {
  return {
    select: selectSetting(defaults),
    pinned: setting(texts(), [], `${ids} that never lose their books to more active markets.`),
    fullBooks: setting(
      whole(0, MAX_BOOKS),
      bounds.full,
      'Max books by socket; further markets fall to polled books.',
    ),
    polledBooks: setting(
      whole(0, MAX_BOOKS),
      bounds.polled,
      'Max polled books; of further markets only the record is kept.',
    ),
  }
}

const MAX_BOOKS = 500_000

/** What the settings stand for. */
export function toSelection(
  config: SettingValues<SelectionSettings>,
  defaults: readonly Rule[],
  booksPerMarket: number,
): SelectionOptions {
  const { select, pinned, fullBooks, polledBooks } = config
  const bounds = { full: fullBooks, polled: polledBooks }
  return { rules: toRules(select, defaults), pinned, bounds, booksPerMarket }
}
