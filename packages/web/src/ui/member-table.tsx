import type { ContractWithTermsJson } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import { showPrice } from '../app/show.ts'
import { printPlace } from '../model/place.ts'
import { printSpan } from '../model/time.ts'
import type { CompareSession } from '../session/compare-session.ts'
import type { ContractInstant } from '../session/contract-instant.ts'
import { MemberKey } from './compare-chart.tsx'
import { NetPrice } from './net-price.tsx'
import { StatusWord, VenueTag } from './words.tsx'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'

const FIGURES = ['Bid', 'Ask', 'Net bid', 'Net ask', 'Age'] as const
type Column = 'Member' | (typeof FIGURES)[number]

const VALUES = {
  Bid: 'best_bid',
  Ask: 'best_ask',
  'Net bid': 'net_bid',
  'Net ask': 'net_ask',
  Age: 'age_ms',
} as const

// Only for the order of rows; a member without a price comes last.
function keyOf(
  { members }: ContractWithTermsJson,
  shown: ContractInstant | undefined,
  place: number,
  column: Column,
): string | number | undefined {
  if (column === 'Member') return members[place]!.title ?? members[place]!.market_id
  const price = shown?.prices.members[place]
  if (price === undefined || price.reason !== null) return undefined
  const value = price[VALUES[column]]
  return value === null ? undefined : Number(value)
}

/** The members with their prices at the instant, as the venue shows them and after fees. */
export function MemberTable(props: {
  readonly session: CompareSession
  readonly contract: ContractWithTermsJson
}) {
  const { session, contract } = props
  const shown = session.shown.value
  const places = contract.members.map((_, place) => place)
  const { sorted, head } = useOrder(places, (place, column: Column) =>
    keyOf(contract, shown, place, column),
  )
  return (
    <ScrollBox label="Members" class="members-scroll">
      <table class="members">
        <thead>
          <tr>
            <SortHead {...head('Member')} />
            <th scope="col">Yes is</th>
            {FIGURES.map((name) => (
              <SortHead key={name} {...head(name)} class="num" />
            ))}
            <th scope="col">Fee of a taker</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((place) => (
            <MemberRow
              key={place}
              contract={contract}
              place={place}
              shown={shown}
              time={session.time.value}
            />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function MemberRow(props: {
  readonly contract: ContractWithTermsJson
  readonly place: number
  readonly shown: ContractInstant | undefined
  readonly time: number | undefined
}) {
  const { contract, place, shown } = props
  const member = contract.members[place]!
  const { venue, market_id: marketId } = member
  const price = shown?.prices.members[place]
  const best = shown?.prices
  // The best of all members is marked by more than a colour.
  const isBestBid = best?.bids.member[0] === place
  const isBestAsk = best?.asks.member[0] === place
  // The page of the market shows the same instant.
  const href = printPlace({ page: 'market', venue, marketId, time: props.time })
  return (
    <tr data-venue={venue} data-row={price?.row_id ?? ''}>
      <th scope="row">
        <span class="member-name">
          <MemberKey members={contract.members} place={place} />
          <VenueTag venue={venue} />
          <a href={href} title={marketId}>
            {member.title ?? marketId}
          </a>
        </span>
      </th>
      <td data-head="Yes is">
        {member.yes.outcome} <StatusWord status={member.status} />{' '}
        {member.winning_outcome !== null && <span class="winner">{member.winning_outcome}</span>}
      </td>
      {price === undefined || price.reason === null ? (
        <>
          <td data-head="Bid" class="num bid">
            {showPrice(price?.best_bid)}
          </td>
          <td data-head="Ask" class="num ask">
            {showPrice(price?.best_ask)}
          </td>
          <td data-head="Net bid" class={`num bid${isBestBid ? ' best' : ''}`}>
            <NetPrice price={price?.net_bid} way="down" />
            {isBestBid && <span title="The best of all members"> ◂</span>}
          </td>
          <td data-head="Net ask" class={`num ask${isBestAsk ? ' best' : ''}`}>
            <NetPrice price={price?.net_ask} way="up" />
            {isBestAsk && <span title="The best of all members"> ◂</span>}
          </td>
          <td data-head="Age" class="num">
            {price === undefined || price.age_ms === null
              ? '–'
              : printSpan(Number(price.age_ms) * 1000)}
          </td>
        </>
      ) : (
        <td colSpan={5} class="no-price">
          {price.reason.gap === null ? '' : <i class="hatch-key" aria-hidden="true" />}{' '}
          {price.reason.message}
        </td>
      )}
      <td data-head="Fee of a taker" class="fee">
        {price?.fee === null || price === undefined ? (
          '–'
        ) : (
          <span title={`${price.fee.source} (${VENUES[venue].label})`}>{price.fee.formula}</span>
        )}
      </td>
    </tr>
  )
}
