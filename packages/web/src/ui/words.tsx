import type { ReadonlySignal } from '@preact/signals'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { Trouble } from '../app/trouble.ts'
import type { LinkState } from '../session/live-link.ts'
import type { Moment } from '../session/market-session.ts'

/** The full name of a venue, for titles. */
export function venueTitle(venue: VenueId): string {
  const { label, marketKind } = VENUES[venue]
  return `${label} · ${marketKind}`
}

/** The letter of a venue, for narrow columns. */
export function venueLetter(venue: VenueId): string {
  return VENUES[venue].label.slice(-1)
}

/** The letter of a venue in a box. */
export function VenueTag({ venue }: { readonly venue: VenueId }) {
  return (
    <span class={`venue-tag ${venue}`} title={venueTitle(venue)}>
      <span aria-hidden="true">{venueLetter(venue)}</span>
      <span class="sr">{venueTitle(venue)}</span>
    </span>
  )
}

const FULL = new Set(['open', 'recording', 'operational', 'available', 'active', 'delivered'])
const HOLLOW = new Set(['scheduled', 'unknown', 'not_recording', 'pending'])

/** A status as a word with a shape, so that it does not depend on colour. */
export function StatusWord({ status }: { readonly status: string | null | undefined }) {
  const word = status ?? 'unknown'
  const shape = FULL.has(word)
    ? '●'
    : HOLLOW.has(word)
      ? '○'
      : word === 'resolved' || word === 'determined'
        ? '■'
        : word === 'closed'
          ? '□'
          : '▲'
  return (
    <span class={`status-word s-${word}`}>
      <span aria-hidden="true">{shape}</span> {word.replaceAll('_', ' ')}
    </span>
  )
}

const WORDS = {
  connecting: ['◌', 'connecting'],
  live: ['●', 'live'],
  polling: ['◐', 'polling'],
  refused: ['▲', 'no live data'],
} as const

const MOMENTS = {
  replay: ['▶', 'replay'],
  past: ['◷', 'past'],
  ended: ['□', 'ended'],
} as const

/** How the newest books arrive. */
export type Link = {
  readonly state: ReadonlySignal<LinkState>
  readonly trouble: ReadonlySignal<Trouble | undefined>
}

/** How the newest books arrive, or that others are shown. */
export function LinkWord(props: { readonly link: Link | undefined; readonly moment?: Moment }) {
  const { link, moment = 'now' } = props
  if (link === undefined) return null
  const state = moment === 'now' ? link.state.value : moment
  const [sign, word] = { ...WORDS, ...MOMENTS }[state]
  return (
    <span class={`link-word l-${state}`} role="status" title={link.trouble.value?.text ?? ''}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  )
}

/** Names with their values. */
export function Facts(props: {
  readonly class: string
  readonly facts: readonly (readonly [name: string, value: string])[]
}) {
  return (
    <dl class={props.class}>
      {props.facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
