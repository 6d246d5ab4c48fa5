import type { MarketJson } from '@priorbook/sdk/wire'
import { CopyButton } from './api-calls.tsx'

/** Every identifier of the market, each with a button that copies it. */
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

// Names of identifiers as the API serves them; a market has those of its venue.
const FIELDS = [
  'market_id',
  'topic_id',
  'condition.id',
  'condition.question_id',
  'chain',
  'exchange_contract',
  'series_ticker',
  'event_ticker',
  'gamma_market_id',
  'slug',
  'event_id',
]

function idsOf(market: MarketJson): (readonly [string, string])[] {
  const ids = FIELDS.map((path) => [path, valueAt(market, path)] as const)
  for (const { label, token_id: token, external_id: external } of market.outcomes) {
    ids.push([`token of ${label}`, token], [`external id of ${label}`, external])
  }
  return ids.flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [[name, value] as const] : [],
  )
}

function valueAt(market: MarketJson, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | undefined)?.[name],
      market,
    )
}
