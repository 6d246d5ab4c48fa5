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

/** The members with their prices at the instant, as the venue shows them and after fees. */
export function MemberTable(props: {
  readonly session: CompareSession
  readonly contract: ContractWithTermsJson
}) {
  const { session, contract } = props
  const shown = session.shown.value
  return (
    <ScrollBox label="Members" class="members-scroll">
      <table class="members">
        <thead>
          <tr>
            <th>Member</th>
            <th>Yes is</th>
            <th class="num">Bid</th>
            <th class="num">Ask</th>
            <th class="num">Net bid</th>
            <th class="num">Net ask</th>
            <th class="num">Age</th>
            <th>Fee of a taker</th>
          </tr>
        </thead>
        <tbody>
          {contract.members.map((member, place) => (
            <MemberRow
              key={`${member.venue} ${member.market_id}`}
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
