import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Firing } from '../ops/alert-conditions.ts'
import { ALERTS, type Alert } from '../ops/alerts.ts'
import { fetchScrape, type Scrape } from '../ops/scrape.ts'
import type { ServiceStatus } from '../ops/status.ts'
import type { Finding } from './finding.ts'

// Growth of counters is judged over this time.
const APART_MS = 2000
const STATUS_MS = 5000

/** Says which alerts would fire if a running service stayed as it is now. */
export async function* judgeAlerts(metrics: string): AsyncGenerator<Finding> {
  let before: Scrape
  let now: Scrape
  try {
    before = await fetchScrape(metrics)
    await pause(APART_MS)
    now = await fetchScrape(metrics)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    yield {
      level: 'look',
      text: `${error.message}: PriorbookDown would fire`,
      advice: adviceOf(ALERTS.find(({ name }) => name === 'PriorbookDown')!),
    }
    return
  }
  const details = await readDetails(metrics)
  let firing = 0
  for (const alert of ALERTS) {
    for (const one of alert.condition.judge?.(now, before) ?? []) {
      firing++
      yield toFinding(alert, one, details)
    }
  }
  const judged = ALERTS.filter(({ condition }) => condition.judge !== undefined)
  if (firing > 0) return
  yield { level: 'ok', text: `none of ${judged.length} alerts would fire now (${metrics})` }
}

// A condition that does not hold long enough is no alert, so only one that fires at once is bad.
function toFinding(alert: Alert, { labels, value }: Firing, details: VenueDetails): Finding {
  const named = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  const series = named.length === 0 ? '' : `{${named.join(', ')}}`
  const lasting = alert.for === '0s' ? '' : ` if it lasts for ${alert.for}`
  const detail = details[labels['venue'] ?? '']
  const why = detail === undefined ? '' : ` (${detail})`
  const shown = Number(value.toPrecision(3))
  return {
    level: alert.for === '0s' ? 'bad' : 'look',
    text: `${alert.name}${series} would fire${lasting}: value ${shown}${why}`,
    advice: adviceOf(alert),
  }
}

function adviceOf({ name, steps }: Alert): string {
  return `${steps[0]} All steps: priorbook-server doctor --alert ${name}`
}

type VenueDetails = Readonly<Record<string, string>>

// The reason that each connector gives for its state; it is no metric.
async function readDetails(metrics: string): Promise<VenueDetails> {
  try {
    const url = new URL('/status', metrics)
    const answer = await fetch(url, { signal: AbortSignal.timeout(STATUS_MS) })
    const { recorder } = (await answer.json()) as Pick<ServiceStatus, 'recorder'>
    const venues = Object.entries(recorder?.venues ?? {})
    return Object.fromEntries(
      venues.map(([venue, { connector }]) => [venue, `${connector.state}: ${connector.detail}`]),
    )
  } catch {
    return {}
  }
}
