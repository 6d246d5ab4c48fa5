import type { AlertEventJson, AlertRuleJson, DecimalJson } from '@priorbook/sdk/wire'
import { groupDigits, printDecimal } from './decimal.ts'
import { printPlace } from './place.ts'
import { microsOf, printLinkTime } from './time.ts'

/** How a price is written: as a probability or in cents. */
type Print = (price: DecimalJson) => string

const OF = { bid: 'Best bid', ask: 'Best ask', mid: 'Middle price' } as const
const ON = { begun: 'A gap begins', ended: 'A gap ends', both: 'A gap begins or ends' } as const

/** What a rule waits for: `Best bid above 0.90`. */
export function ruleWords(rule: AlertRuleJson, print: Print): string {
  switch (rule.kind) {
    case 'price':
      return `${OF[rule.of ?? 'mid']} ${thresholdWords(rule, print)}`
    case 'spread':
      return `Spread ${thresholdWords(rule, print)}`
    case 'depth': {
      const within = rule.within === undefined ? '' : ` within ${print(rule.within)} of the best`
      return `Size of ${rule.side}s${within} ${thresholdWords(rule, printSize)}`
    }
    case 'edge':
      return `Edge after fees ${thresholdWords(rule, print)}`
    case 'gap':
      return ON[rule.on ?? 'both']
    case 'resolved':
      return 'The market is resolved or voided'
  }
}

/** Sizes are not prices: they are never cents. */
function printSize(size: DecimalJson): string {
  return groupDigits(printDecimal(size))
}

type Limits = { readonly above?: DecimalJson | null; readonly below?: DecimalJson | null }

function thresholdWords({ above, below }: Limits, print: Print): string {
  if (above !== undefined && above !== null) return `above ${print(above)}`
  return below === undefined || below === null ? '' : `below ${print(below)}`
}

/** What a rule watches: a name, and the page that shows it where there is one. */
type Watched = { readonly text: string; readonly href?: string }

/** The market, family or contract of a rule. */
export function watchedOf(rule: AlertRuleJson): Watched {
  const { venue, market_id: marketId, asset, window, series, contract_id: contractId } = rule
  if (contractId !== undefined) {
    return { text: contractId, href: `/contracts/${encodeURIComponent(contractId)}` }
  }
  const outcome = rule.outcome === undefined ? '' : ` · ${rule.outcome}`
  if (venue !== undefined && marketId !== undefined) {
    const href = printPlace({ page: 'market', venue, marketId, time: undefined })
    return { text: `${marketId}${outcome}`, href }
  }
  if (series !== undefined) return { text: `every market of ${series}${outcome}` }
  const rounds = window === undefined ? 'market' : `round of ${window}`
  return { text: `every ${asset?.toUpperCase() ?? ''} ${rounds}${outcome}` }
}

/** What happened: `0.91, above 0.90`. */
export function eventWords(event: AlertEventJson, print: Print): string {
  const { kind, value, gap, resolution } = event
  if (kind === 'test') return 'Test'
  if (gap !== null) return `Gap ${gap.moment}: ${gap.gap.reason.replaceAll('_', ' ')}`
  if (resolution !== null) {
    const { status, winning_outcome: winner } = resolution
    return winner === null ? `Became ${status}` : `Became ${status}: ${winner}`
  }
  const own = kind === 'depth' ? printSize : print
  return value === null ? kind : `${own(value)}, ${thresholdWords(event, own)}`
}

/** The page that shows the instant of an event; undefined for a test. */
export function eventPlace({
  venue,
  market_id: id,
  time,
  edge,
}: AlertEventJson): { readonly text: string; readonly href: string } | undefined {
  const at = microsOf(time)
  if (edge !== null) {
    const path = `/contracts/${encodeURIComponent(edge.contract_id)}`
    return { text: edge.contract_id, href: `${path}?t=${printLinkTime(at)}` }
  }
  if (venue === null || id === null) return undefined
  return { text: id, href: printPlace({ page: 'market', venue, marketId: id, time: at }) }
}
