import type { VenueId } from '@priorbook/sdk/domain'

/** The short names of venues, for narrow columns. */
export const VENUE_LETTERS: Readonly<Record<VenueId, string>> = {
  venuea: 'A',
  venueb: 'B',
  venuec: 'C',
}

/** What a venue is, for titles. */
export const VENUE_NAMES: Readonly<Record<VenueId, string>> = {
  venuea: 'Venue A · wallet rounds',
  venueb: 'Venue B · event contracts',
  venuec: 'Venue C · on-chain tokens',
}

/** The letter of a venue in a box. */
export function VenueTag({ venue }: { readonly venue: VenueId }) {
  return (
    <span class={`venue-tag ${venue}`} title={VENUE_NAMES[venue]}>
      <span aria-hidden="true">{VENUE_LETTERS[venue]}</span>
      <span class="sr">{VENUE_NAMES[venue]}</span>
    </span>
  )
}

/** A status as a word with a shape: the shape tells it without colour. */
export function StatusWord({ status }: { readonly status: string | null | undefined }) {
  const word = status ?? 'unknown'
  const shape =
    word === 'open' || word === 'recording' || word === 'operational' || word === 'available'
      ? '●'
      : word === 'scheduled' || word === 'unknown' || word === 'not_recording'
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
