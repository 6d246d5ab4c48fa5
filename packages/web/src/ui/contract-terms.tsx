import type { ContractWithTermsJson } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import { comparisonOf, termWord } from '../model/contract-words.ts'
import { VenueTag } from './words.tsx'
import { ScrollBox } from './scroll-box.tsx'

const UNKNOWN = 'not known'

/** The terms of all members side by side, with what each difference means for a holder. */
export function ContractTerms({ contract }: { readonly contract: ContractWithTermsJson }) {
  const { members, differences, comparison, refused, withheld } = contract
  const terms = members[0]?.terms.map(({ term }) => term) ?? []
  return (
    <div class="terms">
      <p class={`comparison ${comparison}`}>
        <strong>{sentence(comparisonOf(contract))}.</strong>{' '}
        {comparison === 'identical'
          ? 'Every term of all members is known and equal: Yes pays the same everywhere.'
          : comparison === 'single'
            ? 'There is nothing to compare it with.'
            : 'A position on two venues can pay on both or on neither where these terms decide.'}
      </p>
      <ScrollBox label="Terms" class="terms-scroll">
        <table>
          <thead>
            <tr>
              <th>Term</th>
              {members.map(({ venue, market_id: id }) => (
                <th key={`${venue} ${id}`}>{VENUES[venue].label}</th>
              ))}
              <th>What it means</th>
            </tr>
          </thead>
          <tbody>
            {terms.map((term) => {
              const difference = differences.find((one) => one.term === term)
              return (
                <tr key={term} class={difference === undefined ? '' : 'differs'}>
                  <th scope="row">{termWord(term)}</th>
                  {members.map((member) => {
                    const own = member.terms.find((one) => one.term === term)
                    return (
                      <td
                        key={`${member.venue} ${member.market_id}`}
                        data-head={VENUES[member.venue].label}
                        title={own?.evidence === null ? '' : own?.evidence.said}
                      >
                        {own?.value ?? <span class="quiet">{UNKNOWN}</span>}
                      </td>
                    )
                  })}
                  <td class="meaning">
                    {difference === undefined ? (
                      <span class="quiet">The same for all.</span>
                    ) : (
                      difference.meaning
                    )}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </ScrollBox>
      <Evidence contract={contract} />
      {refused.map(({ venue, market_id: id, why }) => (
        <p key={`${venue} ${id}`} class="quiet">
          Left out by the operator: <VenueTag venue={venue} /> {id}, {why}.
        </p>
      ))}
      {withheld.length > 0 && (
        <p class="quiet">
          Your plan does not include the member of{' '}
          {withheld.map((venue) => VENUES[venue].label).join(', ')}.
        </p>
      )}
    </div>
  )
}

function Evidence({ contract }: { readonly contract: ContractWithTermsJson }) {
  return (
    <details class="evidence">
      <summary>Where the terms come from</summary>
      <ul>
        {contract.members.flatMap(({ venue, market_id: id, terms }) =>
          terms.flatMap(({ term, evidence }) =>
            evidence === null
              ? []
              : [
                  <li key={`${venue} ${id} ${term}`}>
                    <VenueTag venue={venue} /> {termWord(term)}: “{evidence.said}”{' '}
                    <span class="quiet">
                      {evidence.kind === 'record' ? 'record' : 'rule'}, {evidence.source}
                      {evidence.since === null ? '' : `, since ${evidence.since}`}
                    </span>
                  </li>,
                ],
          ),
        )}
      </ul>
    </details>
  )
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
