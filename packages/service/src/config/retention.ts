import { setting, text, type Setting, type SettingValues } from '../lib/setting.ts'
import { SPAN, spanMicros } from '../lib/span.ts'

/** The kinds of stored data that can be removed apart. */
export const RETENTION_TIERS = {
  tape: 'observations, trades and samples',
  journal: 'raw messages',
  quarantine: 'messages that could not be used',
  markets: 'records of ended markets without rows',
} as const

/** One kind of stored data. */
export type RetentionTier = keyof typeof RETENTION_TIERS

/** How much of one kind of data of one venue stays; an absent bound is none. */
export type RetentionLimit = {
  readonly ageMicros?: number | undefined
  readonly bytes?: number | undefined
}

/** The settings of retention as an operator writes them. */
export type RetentionTexts = SettingValues<ReturnType<typeof retentionSettings>>

const AGE = /^(|all|\d+(\.\d+)?(s|m|h|d))$/
const BYTES = /^(|all|\d+(\.\d+)?(kB|MB|GB|TB))$/

/** A setting for how long something stays. */
export function ageSetting(what: string, empty = 'empty for no limit'): Setting<string> {
  return setting(text(AGE), '', `${what}, such as 30d, 12h or 90m; all keeps them; ${empty}.`)
}

/** The settings of retention, for all venues or for one. */
export function retentionSettings(whose: string, empty: string) {
  const age = (tier: RetentionTier): Setting<string> =>
    ageSetting(`How long ${RETENTION_TIERS[tier]} ${whose} stay`, empty)
  const bytes = (tier: RetentionTier): Setting<string> => {
    const what = `How many bytes of ${RETENTION_TIERS[tier]} ${whose} stay`
    return setting(text(BYTES), '', `${what}, such as 50GB; all keeps them; ${empty}.`)
  }
  return {
    tapeAge: age('tape'),
    tapeBytes: bytes('tape'),
    journalAge: age('journal'),
    journalBytes: bytes('journal'),
    quarantineAge: age('quarantine'),
    quarantineBytes: bytes('quarantine'),
    marketsAge: age('markets'),
    marketsBytes: bytes('markets'),
  }
}

const UNIT_BYTES: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

/** The limit of a kind of data of a venue: its own where it has one, else the common one. */
export function limitOf(
  common: RetentionTexts,
  own: RetentionTexts,
  tier: RetentionTier,
): RetentionLimit {
  const ageMicros = parseAmount(own[`${tier}Age`] || common[`${tier}Age`])
  const bytes = parseAmount(own[`${tier}Bytes`] || common[`${tier}Bytes`])
  return { ...(ageMicros !== undefined && { ageMicros }), ...(bytes !== undefined && { bytes }) }
}

/** An age in microseconds or a number of bytes; undefined where there is no limit. */
export function parseAmount(text: string): number | undefined {
  if (text === '' || text === 'all') return undefined
  if (SPAN.test(text)) return spanMicros(text)
  return Number(text.slice(0, -2)) * UNIT_BYTES[text.slice(-2)]!
}
