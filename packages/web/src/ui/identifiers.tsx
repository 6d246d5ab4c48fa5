import type { MarketJson } from '@priorbook/sdk/wire'
import { CopyButton } from './copy-button.tsx'

/** Every name that the venue has for the market, each with a button that copies it. */
export function Identifiers({ market }: { readonly market: MarketJson }) {
  return (
    <dl class="ids">
      {idsOf(market).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <code title={value}>{value}</code>
            <CopyButton text={value} label={`Copy ${name}`} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function idsOf(market: MarketJson): (readonly [string, string])[] {
  const ids: (readonly [string, string | null | undefined])[] = [['market_id', market.market_id]]
  switch (market.venue) {
    case 'venuea':
      ids.push(
        ['topic_id', market.topic_id],
        ['condition.id', market.condition.id],
        ['question_id', market.condition.question_id],
        ['chain', market.chain],
        ['exchange_contract', market.exchange_contract],
      )
      break
    case 'venueb':
      ids.push(['series_ticker', market.series_ticker], ['event_ticker', market.event_ticker])
      break
    case 'venuec':
      ids.push(
        ['gamma_market_id', market.gamma_market_id],
        ['slug', market.slug],
        ['event_id', market.event_id],
      )
      break
  }
  for (const { label, token_id: token, external_id: external } of market.outcomes) {
    ids.push([`token of ${label}`, token], [`external id of ${label}`, external])
  }
  return ids.flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, value] as const],
  )
}
