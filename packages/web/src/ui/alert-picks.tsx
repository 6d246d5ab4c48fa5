import type { ListedMarketJson } from '@priorbook/sdk/client'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { MarketJson } from '@priorbook/sdk/wire'
import { useEffect, useState } from 'preact/hooks'
import type { Panel } from '../app/panel.ts'
import { showPrice } from '../app/show.ts'
import { subjectOf, windowOf } from '../model/contract-words.ts'
import { Choice } from './fields.tsx'
import { FieldError, SearchPick, type Found } from './search-pick.tsx'

// Results that are shown; a longer word finds the others.
const RESULTS = 8

type FoundMarket = Found & { readonly venue: VenueId; readonly outcomes: readonly string[] }

/** Chooses one market by a search, and one of its outcomes where each has a book of its own. */
export function MarketPick(props: {
  readonly panel: Panel
  readonly venue: VenueId | ''
  readonly id: string
  readonly error: string | undefined
  readonly outcome: string
  readonly hasOutcome: boolean
  readonly outcomeError: string | undefined
  readonly onPick: (market: FoundMarket | undefined) => void
  readonly onOutcome: (outcome: string) => void
}) {
  const { panel, venue, id, onPick } = props
  const [market, setMarket] = useState<FoundMarket>()
  const isPicked = venue !== '' && id !== ''
  const isKnown = market?.venue === venue && market.id === id
  // A link names a market by its id alone.
  useEffect(() => {
    if (!isPicked || isKnown) return undefined
    const stop = new AbortController()
    const options = { signal: stop.signal }
    panel.client
      .market({ venue, market_id: id })
      .record({}, options)
      .then(({ data }) => setMarket(data === null ? undefined : toFound(data)))
      // Its id stands for it; the service says whether it can be watched.
      .catch(() => undefined)
    return () => stop.abort()
  }, [venue, id])
  const search = async (q: string, signal: AbortSignal): Promise<readonly FoundMarket[]> => {
    const params = { ...(q === '' ? {} : { q }), status: 'open', limit: RESULTS } as const
    const { data } = await panel.client.markets(params, { signal }).page()
    return data.map((one) => toFound(one, quoteOf(one)))
  }
  const picked: Found | undefined = !isPicked
    ? undefined
    : isKnown
      ? market
      : { id, venue, title: id, detail: '' }
  const hasOutcome = props.hasOutcome && isPicked && VENUES[venue].booksPer === 'token'
  return (
    <div class="field-row">
      <SearchPick
        label="Market"
        placeholder="Search by title, id or slug"
        picked={picked}
        error={props.error}
        search={search}
        onPick={(found) => {
          setMarket(found)
          onPick(found)
        }}
      />
      {hasOutcome && (
        <div class="field">
          <Choice
            label="Outcome"
            value={props.outcome}
            choices={[
              ['', 'each by itself'],
              ...(market?.outcomes ?? []).map((label) => [label, label] as const),
            ]}
            onChange={props.onOutcome}
          />
          <FieldError id="outcome-error" error={props.outcomeError} />
        </div>
      )}
    </div>
  )
}

function toFound(market: MarketJson, quote = ''): FoundMarket {
  const { venue, market_id: id, title, outcomes } = market
  const labels = outcomes.map(({ label }) => label)
  return { id, venue, title: title ?? id, detail: `${id}${quote}`, outcomes: labels }
}

function quoteOf({ best_bid: bid, best_ask: ask }: ListedMarketJson): string {
  return bid === null && ask === null ? '' : ` · ${showPrice(bid)} / ${showPrice(ask)}`
}

/** Chooses a contract by a search. */
export function ContractPick(props: {
  readonly panel: Panel
  readonly id: string
  readonly error: string | undefined
  readonly onPick: (id: string) => void
}) {
  const { panel, id, onPick } = props
  const [contract, setContract] = useState<Found>()
  const isKnown = contract?.id === id
  useEffect(() => {
    if (id === '' || isKnown) return undefined
    const stop = new AbortController()
    panel.client
      .contract(id, {}, { signal: stop.signal })
      .then(({ data }) => setContract(toFoundContract(data)))
      .catch(() => undefined)
    return () => stop.abort()
  }, [id])
  const search = async (q: string, signal: AbortSignal): Promise<readonly Found[]> => {
    const params = { ...(q === '' ? {} : { q }), status: 'open', limit: RESULTS } as const
    const { data } = await panel.client.contracts(params, { signal }).page()
    return data.map(toFoundContract)
  }
  return (
    <div class="field-row">
      <SearchPick
        label="Contract"
        placeholder="Search by title or asset"
        picked={id === '' ? undefined : isKnown ? contract : { id, title: id, detail: '' }}
        error={props.error}
        search={search}
        onPick={(found) => {
          setContract(found)
          onPick(found?.id ?? '')
        }}
      />
    </div>
  )
}

function toFoundContract(contract: Parameters<typeof subjectOf>[0]): Found {
  const { id } = contract
  return { id, title: `${subjectOf(contract)} · ${windowOf(contract)}`, detail: id }
}
