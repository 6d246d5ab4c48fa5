import type { AlertJson } from '@priorbook/sdk/wire'
import { showPrice, showSeconds, zoneName } from '../app/show.ts'
import { ruleWords, watchedOf } from '../model/alert-words.ts'
import { printCount } from '../model/decimal.ts'
import { microsOf, microsOrAbsent, printSpan } from '../model/time.ts'
import type { ListedAlert } from '../session/alert-list.ts'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'
import { useSeconds } from './use-seconds.ts'
import { StatusWord, VenueTag } from './words.tsx'

const FIGURES = ['Fired', 'Waiting', 'Dropped'] as const
type Column = 'Rule' | 'State' | 'Last fired' | 'Last delivery' | (typeof FIGURES)[number]

/** What can be done with a rule. */
type AlertActions = {
  readonly onShow: (alert: AlertJson) => void
  readonly onTest: (alert: AlertJson) => void
  readonly onDelete: (alert: AlertJson) => void
}

/** The rules of the key with what became of their events. */
export function AlertTable(
  props: AlertActions & {
    readonly rows: readonly ListedAlert[]
    readonly shown: number
    readonly selected: string | undefined
  },
) {
  const { rows, selected, onShow, onTest, onDelete } = props
  const now = useSeconds()
  const { sorted, head } = useOrder(rows, keyOf)
  return (
    <ScrollBox label="Rules" class="alerts-scroll">
      <table class="alerts">
        <thead>
          <tr>
            <SortHead {...head('Rule')} />
            <SortHead {...head('State')} />
            <SortHead {...head('Fired')} class="num" />
            <SortHead {...head('Last fired')} />
            <SortHead {...head('Last delivery')} />
            <SortHead {...head('Waiting')} class="num" />
            <SortHead {...head('Dropped')} class="num" />
            <th scope="col">
              <span class="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, props.shown).map((row) => (
            <AlertRow
              key={row.alert.alert_id}
              row={row}
              now={now}
              isSelected={row.alert.alert_id === selected}
              onShow={onShow}
              onTest={onTest}
              onDelete={onDelete}
            />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function AlertRow(
  props: AlertActions & {
    readonly row: ListedAlert
    readonly now: number
    readonly isSelected: boolean
  },
) {
  const { row, now, isSelected } = props
  const { alert } = row
  const title = titleOf(alert)
  return (
    <tr class={isSelected ? 'selected' : ''} data-alert={alert.alert_id}>
      <th scope="row">
        <RuleWords alert={alert} />
      </th>
      <td data-head="State">
        <StatusWord status={alert.state} />
      </td>
      <td data-head="Fired" class="num">
        {printCount(alert.fired)}
      </td>
      <td data-head="Last fired">
        <Ago time={firedOf(row)} now={now} />
      </td>
      <td data-head="Last delivery">
        <LastDelivery row={row} now={now} />
      </td>
      <td data-head="Waiting" class="num">
        {printCount(alert.pending)}
      </td>
      <td data-head="Dropped" class="num">
        {printCount(alert.dropped)}
      </td>
      <td class="alert-actions">
        <button
          type="button"
          aria-label={`Deliveries of ${title}`}
          aria-pressed={isSelected}
          onClick={() => props.onShow(alert)}
        >
          Deliveries
        </button>
        <button type="button" aria-label={`Test ${title}`} onClick={() => props.onTest(alert)}>
          Test
        </button>
        <button type="button" aria-label={`Delete ${title}`} onClick={() => props.onDelete(alert)}>
          Delete
        </button>
      </td>
    </tr>
  )
}

/** How a rule is called: by its name, or by what it waits for. */
export function titleOf({ rule }: AlertJson): string {
  return rule.name ?? ruleWords(rule, showPrice)
}

function RuleWords({ alert }: { readonly alert: AlertJson }) {
  const { rule } = alert
  const watched = watchedOf(rule)
  const words = ruleWords(rule, showPrice)
  return (
    <div class="rule-words">
      {rule.venue !== undefined && <VenueTag venue={rule.venue} />}
      <div>
        <strong>{rule.name ?? words}</strong>
        <span class="quiet">
          {rule.name === undefined ? '' : `${words} · `}
          {watched.href === undefined ? watched.text : <a href={watched.href}>{watched.text}</a>}
        </span>
        <span class="mid" title={rule.webhook}>
          → {rule.webhook}
        </span>
      </div>
    </div>
  )
}

function LastDelivery({ row, now }: { readonly row: ListedAlert; readonly now: number }) {
  const { alert, newest } = row
  if (newest === undefined) return <>–</>
  const { state, attempts, ended_time: ended } = newest
  return (
    <>
      <StatusWord status={state} /> {ended !== null && <Ago time={microsOf(ended)} now={now} />}
      {state === 'pending' && attempts > 0 && (
        <span class="quiet">
          after {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
        </span>
      )}
      {alert.last_error !== null && <div class="gap-word why">{alert.last_error}</div>}
    </>
  )
}

/** How long ago something was, with the exact time as its title. */
export function Ago({ time, now }: { readonly time: number | undefined; readonly now: number }) {
  if (time === undefined) return <>never</>
  return <time title={`${showSeconds(time)} ${zoneName(time)}`}>{printSpan(now - time)} ago</time>
}

function firedOf({ newest }: ListedAlert): number | undefined {
  return newest === undefined ? undefined : microsOf(newest.event.time)
}

function keyOf(row: ListedAlert, column: Column): string | number | undefined {
  const { alert, newest } = row
  switch (column) {
    case 'Rule':
      return titleOf(alert)
    case 'State':
      return alert.state
    case 'Fired':
      return alert.fired
    case 'Last fired':
      return firedOf(row)
    case 'Last delivery':
      return microsOrAbsent(newest?.ended_time)
    case 'Waiting':
      return alert.pending
    case 'Dropped':
      return alert.dropped
  }
}
