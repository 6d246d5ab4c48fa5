import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { METRICS } from '../../packages/service/src/ops/metrics.ts'
import { namesIn } from '../../packages/service/src/ops/promql-names.testing.ts'
import type { Scrape } from '../../packages/service/src/ops/scrape.ts'

const FILE = join(import.meta.dirname, '../../deploy/grafana/priorbook.json')

/** A query of the dashboard. */
export type DashboardQuery = {
  readonly panel: string
  /** With the variables of Grafana filled in. */
  readonly promql: string
  /** The labels in its legend. */
  readonly legend: readonly string[]
}

type Panel = {
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

/** All queries of the panels of the dashboard. */
export function dashboardQueries(): DashboardQuery[] {
  const { panels } = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly panels: Panel[] }
  return panels
    .filter(({ type }) => type !== 'row')
    .flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat }) => ({
        panel: title,
        promql: expr
          .replaceAll('$__rate_interval', '1m')
          .replaceAll('$job', 'priorbook')
          .replaceAll('$instance', '.*'),
        legend: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
      })),
    )
}

/** The queries as rules that promtool can parse. */
export function toRecordingRules(queries: readonly DashboardQuery[]): string {
  const rules = queries.map(({ promql }, at) => ({ record: `dashboard:${at}`, expr: promql }))
  return JSON.stringify({ groups: [{ name: 'dashboard', rules }] })
}

// Labels that Prometheus adds itself.
const ADDED = ['job', 'instance', 'alertname', 'alertstate']

/** What the queries name that a service does not expose; empty if all is well. */
export function findUnknown(
  queries: readonly DashboardQuery[],
  exposition: string,
  scrape: Scrape,
): string[] {
  const exposed = new Set(
    [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, kind]) =>
      kind === 'histogram' || kind === 'summary'
        ? [name!, `${name}_bucket`, `${name}_sum`, `${name}_count`]
        : [name!],
    ),
  )
  return queries.flatMap(({ panel, promql, legend }) => {
    const { series, labels } = namesIn(promql)
    const known = new Set([...ADDED, ...series.flatMap((name) => labelsOf(name, scrape))])
    return [
      ...series.filter((name) => !exposed.has(name)).map((name) => `${panel}: no metric ${name}`),
      ...[...labels, ...legend]
        .filter((label) => !known.has(label))
        .map((label) => `${panel}: no label ${label}`),
    ]
  })
}

// Those of live series; of a metric without series now, those that the service declares.
function labelsOf(series: string, scrape: Scrape): string[] {
  const live = scrape.get(series) ?? []
  if (live.length > 0) return live.flatMap(({ labels }) => Object.keys(labels))
  const declared = METRICS.find(
    ({ name }) => name === series || series.replace(/_(bucket|sum|count)$/, '') === name,
  )
  return [...(declared?.labels ?? [])]
}
