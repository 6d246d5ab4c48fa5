import type { ContractJson } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import { groupDigits, printDecimal } from './decimal.ts'
import { microsOrAbsent, printSeconds } from './time.ts'

type Contract = Pick<
  ContractJson,
  | 'id'
  | 'kind'
  | 'title'
  | 'asset'
  | 'window'
  | 'opens'
  | 'closes'
  | 'strike'
  | 'floor'
  | 'cap'
  | 'members'
>

/** What is bet on: `BTC up or down in 15m`. */
export function subjectOf({ id, kind, title, asset, window, ...price }: Contract): string {
  const money = (value: Contract['strike']): string => groupDigits(printDecimal(value))
  switch (kind) {
    case 'up_down':
      return `${asset} up or down${window === null ? '' : ` in ${window}`}`
    case 'above':
      return `${asset} above ${money(price.strike)}`
    case 'range':
      return `${asset} from ${money(price.floor)} to below ${money(price.cap)}`
    default:
      return title ?? id
  }
}

/** When it is decided: `2026-11-17 17:30 – 17:45`, or only the end where the start does not matter. */
export function windowOf({ kind, opens, closes }: Contract): string {
  const from = microsOrAbsent(opens)
  const to = microsOrAbsent(closes)
  if (to === undefined) return 'open end'
  const end = short(to)
  if (kind !== 'up_down' || from === undefined) return end
  const start = short(from)
  const isSameDay = start.slice(0, 10) === end.slice(0, 10)
  return `${start} – ${isSameDay ? end.slice(11) : end}`
}

// Whole minutes without their seconds.
function short(time: number): string {
  return printSeconds(time).replace(/:00$/, '')
}

/** Who won in terms of the contract: one word where all members that say agree. */
export function winnerOf({ members }: Pick<Contract, 'members'>): string | undefined {
  const said = members.flatMap(({ venue, yes, no, winning_outcome: winner }) => {
    if (winner === null) return []
    const word = winner === yes.outcome ? 'Yes' : winner === no?.outcome ? 'No' : winner
    return [{ venue, word }]
  })
  const [first] = said
  if (first === undefined) return undefined
  if (said.every(({ word }) => word === first.word)) return first.word
  return said.map(({ venue, word }) => `${VENUES[venue].label}: ${word}`).join(', ')
}

/** How the members compare, in a few words. */
export function comparisonOf(
  contract: Pick<ContractJson, 'comparison' | 'differs_in' | 'members'>,
): string {
  const { comparison, differs_in: terms } = contract
  if (comparison === 'identical') return 'identical'
  if (comparison === 'single') return 'on one venue only'
  return `equivalent except ${joinWords(terms.map(termWord))}`
}

/** The name of a term in plain words. */
export function termWord(term: string): string {
  return term.replaceAll('_', ' ')
}

function joinWords(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
