import type { VenueId } from '@priorbook/sdk/domain'
import type { AlertKind, AlertRuleJson } from '@priorbook/sdk/wire'

/** How a rule names its markets. */
export type AlertScope = 'market' | 'asset' | 'series'

/** A rule while it is being written; every text as it was typed. */
export type AlertDraft = {
  readonly kind: AlertKind
  readonly scope: AlertScope
  readonly venue: VenueId | ''
  readonly marketId: string
  readonly asset: string
  readonly window: string
  readonly series: string
  readonly outcome: string
  readonly contractId: string
  readonly of: 'bid' | 'ask' | 'mid'
  readonly side: 'bid' | 'ask'
  readonly within: string
  readonly direction: 'above' | 'below'
  readonly threshold: string
  readonly rearm: string
  readonly on: 'begun' | 'ended' | 'both'
  readonly name: string
  readonly webhook: string
}

/** A rule of which nothing has been written. */
export const EMPTY_DRAFT: AlertDraft = {
  kind: 'price',
  scope: 'market',
  venue: '',
  marketId: '',
  asset: '',
  window: '',
  series: '',
  outcome: '',
  contractId: '',
  of: 'mid',
  side: 'bid',
  within: '',
  direction: 'above',
  threshold: '',
  rearm: '',
  on: 'both',
  name: '',
  webhook: '',
}

/** The fields of the form, by which a message finds its place. */
export type AlertField =
  | 'kind'
  | 'market'
  | 'venue'
  | 'asset'
  | 'window'
  | 'series'
  | 'outcome'
  | 'contract'
  | 'of'
  | 'side'
  | 'within'
  | 'threshold'
  | 'rearm'
  | 'on'
  | 'name'
  | 'webhook'

const FAMILIES: Readonly<Record<AlertScope, readonly AlertField[]>> = {
  market: ['market'],
  asset: ['venue', 'asset', 'window'],
  series: ['venue', 'series'],
}
const OWN: Readonly<Record<AlertKind, readonly AlertField[]>> = {
  price: ['outcome', 'of', 'threshold', 'rearm'],
  spread: ['outcome', 'threshold', 'rearm'],
  depth: ['outcome', 'side', 'within', 'threshold', 'rearm'],
  edge: ['threshold', 'rearm'],
  gap: ['on'],
  resolved: [],
}

/** The fields that a rule of this kind has. */
export function fieldsOf({
  kind,
  scope,
}: Pick<AlertDraft, 'kind' | 'scope'>): readonly AlertField[] {
  const watched: readonly AlertField[] = kind === 'edge' ? ['contract'] : FAMILIES[scope]
  return ['kind', ...watched, ...OWN[kind], 'name', 'webhook']
}

/** The rule as it is sent; the service checks it. A text that was left empty is left out. */
export function toRule(draft: AlertDraft): AlertRuleJson {
  const fields = fieldsOf(draft)
  const has = (field: AlertField): boolean => fields.includes(field)
  const isMarket = has('market')
  // An edge is only ever above a value.
  const direction = draft.kind === 'edge' ? 'above' : draft.direction
  const members: Readonly<Record<string, string | false>> = {
    kind: draft.kind,
    name: draft.name.trim(),
    venue: (isMarket || has('venue')) && draft.venue,
    market_id: isMarket && draft.marketId,
    asset: has('asset') && draft.asset.trim(),
    window: has('window') && draft.window,
    series: has('series') && draft.series.trim(),
    outcome: has('outcome') && draft.outcome,
    contract_id: has('contract') && draft.contractId,
    of: has('of') && draft.of,
    side: has('side') && draft.side,
    within: has('within') && draft.within.trim(),
    rearm: has('rearm') && draft.rearm.trim(),
    on: has('on') && draft.on,
    webhook: draft.webhook.trim(),
  }
  const given = Object.entries(members).filter(([, value]) => value !== false && value !== '')
  // A threshold that is missing is sent as it is, so that the service says what it must be.
  if (has('threshold')) given.push([direction, draft.threshold.trim()])
  return Object.fromEntries(given) as AlertRuleJson
}

const FIELDS: Readonly<Record<string, AlertField>> = {
  market_id: 'market',
  market: 'market',
  contract_id: 'contract',
  above: 'threshold',
  below: 'threshold',
}

/** The field that a message of the service is about; undefined where the form does not show it. */
export function fieldOf(draft: AlertDraft, param: string | undefined): AlertField | undefined {
  if (param === undefined) return undefined
  const shown = fieldsOf(draft)
  // A market that is chosen carries its venue and its asset.
  const isPicked = shown.includes('market') && (param === 'venue' || param === 'asset')
  const field = isPicked ? 'market' : (FIELDS[param] ?? param)
  return shown.find((one) => one === field)
}

/** The command that creates the same rule. */
export function toAlertCommand(rule: Partial<AlertRuleJson>): string {
  const { venue, market_id: marketId, contract_id: contract, webhook = '', ...rest } = rule
  const named = venue !== undefined && marketId !== undefined
  const options = Object.entries({
    ...(named ? {} : { venue }),
    contract,
    ...rest,
    webhook: webhook === '' ? 'https://example.org/hook' : webhook,
  }).flatMap(([name, value]) =>
    value === undefined || value === '' || (name === 'kind' && value === 'price')
      ? []
      : [`--${name} ${quoted(String(value))}`],
  )
  return ['priorbook alert', ...(named ? [quoted(`${venue}:${marketId}`)] : []), ...options].join(
    ' ',
  )
}

// As a shell takes it: one word.
function quoted(text: string): string {
  return /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
