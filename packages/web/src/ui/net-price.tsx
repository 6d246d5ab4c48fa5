import type { SpreadJson } from '@priorbook/sdk/client'
import type { VenueId } from '@priorbook/sdk/domain'
import { prices, showPrice } from '../app/show.ts'
import { padDecimal } from '../model/decimal.ts'
import { roundDecimal } from '../model/exact.ts'
import { VenueTag } from './words.tsx'

// Places that are shown; the title has all of them.
const PLACES = 4

/** A price after fees, rounded against the trader, with its venue; all digits are in the title. */
export function NetPrice(props: {
  readonly price: string | number | null | undefined
  /** A bid or an edge is rounded down, an ask up. */
  readonly way: 'down' | 'up'
  readonly venue?: VenueId | undefined
}) {
  const { price, way, venue } = props
  if (price === null || price === undefined) return <span class="net">–</span>
  const exact = String(price)
  return (
    <span class="net" title={exact} data-exact={exact}>
      {netText(exact, way)}
      {venue !== undefined && <VenueTag venue={venue} />}
    </span>
  )
}

function netText(exact: string, way: 'down' | 'up'): string {
  const rounded = roundDecimal(exact, PLACES, way)
  return prices.value === 'cents' ? showPrice(rounded) : padDecimal(rounded, PLACES)
}

/** An edge of an instant: what is left per share, where Yes is bought and where No. */
export function EdgeFigure({ edge }: { readonly edge: SpreadJson | undefined }) {
  if (edge === undefined) return <span class="quiet">none</span>
  const { yes, no } = edge
  return (
    <span class="edge-now">
      <NetPrice price={edge.best_edge} way="down" />
      <span class="edge-way" title="Yes is bought on the first venue, No on the second">
        <VenueTag venue={yes.venue} /> → <VenueTag venue={no.venue} />
      </span>
    </span>
  )
}
