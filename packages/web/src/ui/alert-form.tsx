import { PriorbookApiError } from '@priorbook/sdk/client'
import { isVenueId, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { ALERT_KINDS, type AlertCreatedJson, type AlertKind } from '@priorbook/sdk/wire'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Panel } from '../app/panel.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import {
  fieldOf,
  fieldsOf,
  toAlertCommand,
  toRule,
  type AlertDraft,
  type AlertField,
  type AlertScope,
} from '../model/alert-draft.ts'
import { CopyButton } from './api-calls.tsx'
import { ContractPick, MarketPick } from './alert-picks.tsx'
import { Choice, VenueChoice, WindowChoice } from './fields.tsx'
import { FieldError, invalid } from './search-pick.tsx'
import { Segments } from './segments.tsx'
import { TroubleNote } from './trouble-note.tsx'

const KINDS: Readonly<Record<AlertKind, string>> = {
  price: 'Price',
  spread: 'Spread',
  depth: 'Depth',
  edge: 'Edge between venues',
  gap: 'Gap in the recording',
  resolved: 'Resolution',
}
const ABOUT: Readonly<Record<AlertKind, string>> = {
  price: 'Fires when the price passes the threshold.',
  spread: 'Fires when best ask minus best bid passes the threshold.',
  depth: 'Fires when the sum of sizes of one side passes the threshold.',
  edge: 'Fires when Yes on one venue and No on another cost less than 1 after fees, by more than the threshold.',
  gap: 'Fires when recording of the market is lost and when it is back.',
  resolved: 'Fires when the market becomes resolved or voided.',
}

/** What is wrong with a draft: beside one of its fields, or with all of it. */
type Wrong = { readonly field: AlertField | undefined; readonly trouble: Trouble }

type FieldProps = {
  readonly draft: AlertDraft
  readonly wrong: Wrong | undefined
  readonly change: (news: Partial<AlertDraft>) => void
}

/** Writes a rule. The service checks it, and what it says stands beside the field that it is about. */
export function AlertForm(props: {
  readonly panel: Panel
  readonly start: AlertDraft
  readonly onCreated: (created: AlertCreatedJson) => void
}) {
  const { panel, onCreated } = props
  const [draft, setDraft] = useState(props.start)
  const [wrong, setWrong] = useState<Wrong>()
  const [isSending, setSending] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const change = (news: Partial<AlertDraft>): void => {
    setDraft({ ...draft, ...news })
    setWrong(undefined)
  }
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]')?.focus()
  }, [wrong])
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setSending(true)
    setWrong(undefined)
    try {
      const { data } = await panel.client.createAlert(toRule(draft))
      setDraft({ ...draft, name: '', threshold: '', rearm: '', within: '' })
      onCreated(data)
    } catch (error) {
      const param = error instanceof PriorbookApiError ? error.param : undefined
      setWrong({ field: fieldOf(draft, param), trouble: toTrouble(error) })
    } finally {
      setSending(false)
    }
  }
  const fields = { draft, wrong, change }
  return (
    <form ref={form} class="alert-form" noValidate onSubmit={(event) => void send(event)}>
      <div class="field">
        <span>What to watch</span>
        <Segments
          label="What to watch"
          value={draft.kind}
          choices={ALERT_KINDS.map((kind) => [kind, KINDS[kind]] as const)}
          onChange={(kind) => change({ kind })}
        />
        <p class="quiet">{ABOUT[draft.kind]}</p>
      </div>
      <Watched {...fields} panel={panel} />
      <Condition {...fields} />
      <div class="field-row">
        <TextField
          {...fields}
          name="webhook"
          label="Webhook address"
          placeholder="https://example.org/hook"
          class="wide"
        />
        <TextField {...fields} name="name" label="Name (optional)" placeholder="btc up" />
      </div>
      {wrong !== undefined && wrong.field === undefined && <TroubleNote trouble={wrong.trouble} />}
      <div class="form-end">
        <button type="submit" class="main-button" disabled={isSending}>
          {isSending ? 'Creating…' : 'Create rule'}
        </button>
        <SameCommand draft={draft} />
      </div>
    </form>
  )
}

function SameCommand({ draft }: { readonly draft: AlertDraft }) {
  const command = toAlertCommand(toRule(draft))
  return (
    <span class="same-command">
      <span class="quiet">The same on the command line:</span>
      <code>{command}</code>
      <CopyButton text={command} label="Copy the command" />
    </span>
  )
}

// The market, family or contract.
function Watched({ draft, wrong, change, panel }: FieldProps & { readonly panel: Panel }) {
  const fields = { draft, wrong, change }
  if (draft.kind === 'edge') {
    return (
      <ContractPick
        panel={panel}
        id={draft.contractId}
        error={errorOf(wrong, 'contract')}
        onPick={(contractId) => change({ contractId })}
      />
    )
  }
  return (
    <>
      <div class="field">
        <span>Where</span>
        <Segments<AlertScope>
          label="Where"
          value={draft.scope}
          choices={[
            ['market', 'One market'],
            ['asset', 'Every market of an asset'],
            ['series', 'Every market of a series'],
          ]}
          onChange={(scope) => change({ scope, outcome: '' })}
        />
      </div>
      {draft.scope === 'market' ? (
        <MarketPick
          panel={panel}
          venue={draft.venue}
          id={draft.marketId}
          error={errorOf(wrong, 'market')}
          outcome={draft.outcome}
          hasOutcome={fieldsOf(draft).includes('outcome')}
          outcomeError={errorOf(wrong, 'outcome')}
          onPick={(market) =>
            change({ venue: market?.venue ?? '', marketId: market?.id ?? '', outcome: '' })
          }
          onOutcome={(outcome) => change({ outcome })}
        />
      ) : (
        <div class="field-row">
          <FamilyVenue {...fields} />
          {draft.scope === 'asset' ? (
            <>
              <TextField {...fields} name="asset" label="Asset" placeholder="btc" />
              <div class="field">
                <WindowChoice value={draft.window} onChange={(window) => change({ window })} />
                <FieldError id="window-error" error={errorOf(wrong, 'window')} />
              </div>
            </>
          ) : (
            <TextField {...fields} name="series" label="Series" placeholder="KXBTC15M" />
          )}
          {fieldsOf(draft).includes('outcome') && hasOwnBooks(draft.venue) && (
            <TextField {...fields} name="outcome" label="Outcome (optional)" placeholder="Up" />
          )}
        </div>
      )}
    </>
  )
}

/** True where every outcome has a book of its own. */
function hasOwnBooks(venue: VenueId | ''): boolean {
  return venue !== '' && VENUES[venue].booksPer === 'token'
}

function FamilyVenue({ draft, wrong, change }: FieldProps) {
  const error = errorOf(wrong, 'venue')
  return (
    <div class="field">
      <VenueChoice
        value={draft.venue}
        none="choose a venue"
        onChange={(venue) =>
          change({ venue: isVenueId(venue) ? venue : '', marketId: '', outcome: '' })
        }
      />
      <FieldError id="venue-error" error={error} />
    </div>
  )
}

// What must happen.
function Condition({ draft, wrong, change }: FieldProps) {
  const fields = { draft, wrong, change }
  const shown = fieldsOf(draft)
  if (shown.includes('on')) {
    return (
      <div class="field-row">
        <Choice
          label="When"
          value={draft.on}
          choices={[
            ['both', 'it begins and ends'],
            ['begun', 'it begins'],
            ['ended', 'it ends'],
          ]}
          onChange={(on) => change({ on: on as AlertDraft['on'] })}
        />
      </div>
    )
  }
  if (!shown.includes('threshold')) return null
  const isSize = draft.kind === 'depth'
  return (
    <div class="field-row">
      <SideChoice {...fields} />
      {draft.kind !== 'edge' && (
        <Choice
          label="Passes"
          value={draft.direction}
          choices={[
            ['above', 'above'],
            ['below', 'below'],
          ]}
          onChange={(direction) => change({ direction: direction as AlertDraft['direction'] })}
        />
      )}
      <TextField
        {...fields}
        name="threshold"
        label={isSize ? 'Threshold, a size' : 'Threshold, from 0 to 1'}
        placeholder={isSize ? '1000' : draft.kind === 'price' ? '0.9' : '0.05'}
      />
      <TextField {...fields} name="rearm" label="Again after it came back by" placeholder="0" />
    </div>
  )
}

function SideChoice({ draft, wrong, change }: FieldProps) {
  if (draft.kind === 'price') {
    return (
      <Choice
        label="Price"
        value={draft.of}
        choices={[
          ['mid', 'middle'],
          ['bid', 'best bid'],
          ['ask', 'best ask'],
        ]}
        onChange={(of) => change({ of: of as AlertDraft['of'] })}
      />
    )
  }
  if (draft.kind !== 'depth') return null
  return (
    <>
      <Choice
        label="Side"
        value={draft.side}
        choices={[
          ['bid', 'bids'],
          ['ask', 'asks'],
        ]}
        onChange={(side) => change({ side: side as AlertDraft['side'] })}
      />
      <TextField
        draft={draft}
        wrong={wrong}
        change={change}
        name="within"
        label="Levels within (optional)"
        placeholder="0.02"
      />
    </>
  )
}

type TextName =
  | 'asset'
  | 'series'
  | 'outcome'
  | 'within'
  | 'threshold'
  | 'rearm'
  | 'name'
  | 'webhook'

function TextField(
  props: FieldProps & {
    readonly name: TextName
    readonly label: string
    readonly placeholder: string
    readonly class?: string
  },
) {
  const { draft, wrong, change, name } = props
  const id = useId()
  const error = errorOf(wrong, name)
  return (
    <div class={`field ${props.class ?? ''}`}>
      <label for={id}>{props.label}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        placeholder={props.placeholder}
        value={draft[name]}
        {...invalid(error, `${id}-error`)}
        onInput={(event) => change({ [name]: event.currentTarget.value })}
      />
      <FieldError id={`${id}-error`} error={error} />
    </div>
  )
}

function errorOf(wrong: Wrong | undefined, field: AlertField): string | undefined {
  return wrong?.field === field ? wrong.trouble.text : undefined
}
