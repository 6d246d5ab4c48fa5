import { useComputed } from '@preact/signals'
import type { RevisionJson } from '@priorbook/sdk/client'
import { showSeconds, zoneName } from '../app/show.ts'
import { printDecimal } from '../model/decimal.ts'
import { microsOf, microsOrAbsent } from '../model/time.ts'
import type { MarketSession } from '../session/market-session.ts'
import { StatusWord } from './words.tsx'

type Step = {
  readonly time: number
  readonly status: string
  readonly text: string
}

/** The status changes and the resolution of a market; those after the instant are pale. */
export function Timeline({ session }: { readonly session: MarketSession }) {
  const all = useComputed(() => stepsOf(session.revisions.value))
  // Rendered only when the instant passes a step, not every second.
  const passed = useComputed(() => {
    const { value: second } = session.second
    return all.value.filter(({ time }) => time <= second).length
  }).value
  const steps = all.value
  const record = session.known.value
  if (steps.length === 0 || record === undefined) {
    return <p class="quiet">No version of the record has been seen.</p>
  }
  const { resolution } = record
  const { reference } = resolution
  const facts: (readonly [string, string])[] = [
    ['Opens', timeText(record.open_time)],
    ['Closes', timeText(record.close_time)],
    ['Resolved', timeText(record.resolved_time)],
    ['Winner', record.winning_outcome ?? '–'],
    [
      'Payouts',
      resolution.payouts.length === 0 ? '–' : resolution.payouts.map(printDecimal).join(' / '),
    ],
    ['Decided by', resolution.source ?? '–'],
    ['Reference', reference.feed ?? '–'],
    ['From', printDecimal(reference.start_price)],
    ['To', printDecimal(reference.end_price)],
  ]
  return (
    <div class="timeline">
      <ol class="steps">
        {steps.map(({ time, status, text }, index) => (
          <li key={`${time} ${status}`} class={index < passed ? '' : 'ahead'}>
            <button type="button" class="step-time" onClick={() => session.seek(time)}>
              {showSeconds(time)}
            </button>
            <StatusWord status={status} />
            {text !== '' && <span class="quiet"> {text}</span>}
          </li>
        ))}
      </ol>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '–')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </div>
  )
}

function stepsOf(revisions: readonly RevisionJson[]): Step[] {
  const steps: Step[] = []
  let before = ''
  for (const revision of revisions) {
    const { status, status_native: native, winning_outcome: winner } = revision
    const mark = `${status} ${winner}`
    if (mark === before) continue
    before = mark
    const parts = [
      native !== null && native.toLowerCase() !== status ? `“${native}”` : '',
      winner === null ? '' : `winner ${winner}`,
    ]
    steps.push({
      time: microsOf(revision.revision_time),
      status: status ?? 'unknown',
      text: parts.filter(Boolean).join(', '),
    })
  }
  return steps
}

function timeText(time: string | number | null): string {
  const micros = microsOrAbsent(time)
  return micros === undefined ? '–' : `${showSeconds(micros)} ${zoneName(micros)}`
}
