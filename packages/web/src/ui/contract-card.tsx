import type { ContractJson, ListedMarketJson } from '@priorbook/sdk/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { useLoad } from '../app/use-load.ts'
import { busiestContract } from '../model/busiest-contract.ts'
import { USUAL_SIZE } from '../model/compare-view.ts'
import { subjectOf, windowOf } from '../model/contract-words.ts'
import { printPlace } from '../model/place.ts'
import { microsOrAbsent, printSpan } from '../model/time.ts'
import { CompareSession } from '../session/compare-session.ts'
import { CompareChart, MemberKey } from './compare-chart.tsx'
import { EdgeFigure, NetPrice } from './net-price.tsx'
import { PanelBox } from './panel.tsx'
import { useSeconds } from './use-seconds.ts'
import { LinkWord, VenueTag } from './words.tsx'

// How often open contracts are looked for.
const EVERY_MS = 10_000
const VIEW = { time: undefined, side: 'buy', size: USUAL_SIZE, lines: 'quotes' } as const
// A card shows best prices only, and leaves most requests of a small plan to the rest of the page.
const SCOPE = { depth: 1, everyMs: 4000 } as const

/** The busiest contract that is not decided yet, on all venues; nothing where there is none. */
export function ContractCard({ markets }: { readonly markets: readonly ListedMarketJson[] }) {
  const panel = useMemo(createPanel, [key.value])
  const [contract, setContract] = useState<ContractJson | undefined>(undefined)
  const rows = useRef(markets)
  rows.current = markets
  const now = useSeconds()
  // Another one is looked for at once when the contract closes.
  const isOver = contract !== undefined && (microsOrAbsent(contract.closes) ?? Infinity) <= now
  useLoad(
    async (signal) => {
      // Without markets it is not known which contract is busy.
      if (rows.current.length === 0) return
      const { data } = await panel.client
        .contracts({ status: 'open', limit: 100 }, { signal })
        .page()
      setContract((shown) => busiestContract(data, rows.current, Date.now() * 1000, shown?.id))
    },
    [panel, markets.length > 0, isOver],
    EVERY_MS,
  )
  if (contract === undefined || isOver) return null
  return <Card key={contract.id} contract={contract} />
}

function Card({ contract }: { readonly contract: ContractJson }) {
  const { id } = contract
  const session = useMemo(() => new CompareSession(id, VIEW, SCOPE), [id, key.value])
  useEffect(() => () => session.close(), [session])
  const left = (session.closes.value ?? 0) - session.wall.value
  const shown = session.shown.value
  const { members } = session.contract.value ?? contract
  return (
    <PanelBox
      title="Busiest contract, on all venues"
      class="contract-card"
      calls={session.panels.instant.calls}
      tools={<LinkWord link={session.link} moment={session.moment.value} />}
    >
      <div class="featured-title">
        <a href={printPlace({ page: 'contract', contractId: id, ...VIEW })}>
          {subjectOf(contract)}
        </a>
        <span class="quiet">
          {windowOf(contract)} UTC{left > 0 ? ` · closes in ${printSpan(left)}` : ''}
        </span>
        <span class="legend">
          <i class="edge-key" /> edge <i class="hatch-key" /> gap
        </span>
      </div>
      <div class="card-grid">
        <CompareChart history={session.history} members={members} lines="quotes" height={150} />
        <div>
          <table class="card-members">
            <thead>
              <tr>
                <th>Venue</th>
                <th class="num">Net bid</th>
                <th class="num">Net ask</th>
              </tr>
            </thead>
            <tbody>
              {members.map(({ venue, market_id: market }, place) => (
                <tr key={`${venue} ${market}`}>
                  <th scope="row">
                    <span class="member-name">
                      <MemberKey members={members} place={place} /> <VenueTag venue={venue} />
                    </span>
                  </th>
                  <td class="num bid">
                    <NetPrice price={shown?.prices.members[place]?.net_bid} way="down" />
                  </td>
                  <td class="num ask">
                    <NetPrice price={shown?.prices.members[place]?.net_ask} way="up" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p>Edge now: {shown === undefined ? '–' : <EdgeFigure edge={shown.edges[0]} />}</p>
          <p>
            <a href="/contracts">All contracts</a>
          </p>
        </div>
      </div>
    </PanelBox>
  )
}
