import type { Labels, Scrape, Series } from './scrape.ts'

/** What an alert watches, for Prometheus and for `doctor`. */
export type Condition = {
  /** The expression for Prometheus. */
  readonly promql: string
  /**
   * The series for which it holds, judged by two scrapes of one process some seconds apart. Absent where only
   * Prometheus can tell, because it concerns several processes or one that does not answer.
   */
  readonly judge?: (now: Scrape, before: Scrape) => readonly Firing[]
}

/** A series for which a condition holds, with the value that was compared. */
export type Firing = { readonly labels: Labels; readonly value: number }

type Bound = readonly [sign: '>' | '<' | '==', bound: number]

/** A condition that only Prometheus can judge. */
export function promqlOnly(promql: string): Condition {
  return { promql }
}

/** The value of a metric itself. */
export function valueOf(metric: string, labels: Labels, [sign, bound]: Bound): Condition {
  return {
    promql: `${selector(metric, labels)} ${sign} ${bound}`,
    judge: (now) => pick(now, metric, labels).filter(({ value }) => isBeyond(value, sign, bound)),
  }
}

/** The value of a metric, whatever its sign. */
export function sizeOf(metric: string, bound: number): Condition {
  return {
    promql: `abs(${metric}) > ${bound}`,
    judge: (now) => pick(now, metric).filter(({ value }) => Math.abs(value) > bound),
  }
}

/** A counter that grows within a window. */
export function growthOf(metric: string, window: string): Condition {
  return {
    promql: `increase(${metric}[${window}]) > 0`,
    judge: (now, before) => grown(now, before, metric).filter(({ value }) => value > 0),
  }
}

/** The share of one metric in another one of the same venue. */
export function venueShare(
  part: string,
  [whole, labels]: readonly [metric: string, labels: Labels],
  bound: number,
): Condition {
  return {
    promql: `${part} / on (instance, job, venue) ${selector(whole, labels)} > ${bound}`,
    judge: (now) =>
      pick(now, part).flatMap((series) => {
        const { venue } = series.labels
        const all = pick(now, whole, { ...labels, ...(venue === undefined ? {} : { venue }) })
        const share = series.value / (all[0]?.value ?? Number.NaN)
        return share > bound ? [{ labels: series.labels, value: share }] : []
      }),
  }
}

/** The share of the requests of a window that a pattern of statuses matches. */
export function requestShare(statuses: string, window: string, bound: number): Condition {
  const metric = 'priorbook_api_requests_total'
  const rate = (labels: string): string =>
    `sum by (instance, job) (rate(${metric}${labels}[${window}]))`
  const pattern = new RegExp(`^(?:${statuses})$`)
  return {
    promql: `${rate(`{status=~"${statuses}"}`)} / ${rate('')} > ${bound}`,
    judge: (now, before) => {
      const all = grown(now, before, metric)
      const some = all.filter(({ labels }) => pattern.test(labels['status'] ?? ''))
      return shareAbove(sum(some), sum(all), bound)
    },
  }
}

/** The share of the requests of a window that took longer than `seconds`, which is a bound of the histogram. */
export function slowShare(
  routes: string,
  seconds: number,
  window: string,
  bound: number,
): Condition {
  const metric = 'priorbook_api_request_seconds'
  const rate = (suffix: string, more: string): string =>
    `sum by (instance, job) (rate(${metric}_${suffix}{class="2xx",route!~"${routes}"${more}}[${window}]))`
  const others = new RegExp(`^(?:${routes})$`)
  return {
    promql: `1 - ${rate('bucket', `,le="${seconds}"`)} / ${rate('count', '')} > ${bound}`,
    judge: (now, before) => {
      const judged = ({ labels }: Series): boolean =>
        labels['class'] === '2xx' && !others.test(labels['route'] ?? '')
      const fast = grown(now, before, `${metric}_bucket`).filter(
        (series) => judged(series) && series.labels['le'] === String(seconds),
      )
      const all = grown(now, before, `${metric}_count`).filter(judged)
      return shareAbove(sum(all) - sum(fast), sum(all), bound)
    },
  }
}

function shareAbove(part: number, whole: number, bound: number): Firing[] {
  return whole > 0 && part / whole > bound ? [{ labels: {}, value: part / whole }] : []
}

function selector(metric: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return pairs.length === 0 ? metric : `${metric}{${pairs.join(',')}}`
}

function isBeyond(value: number, sign: Bound[0], bound: number): boolean {
  if (sign === '==') return value === bound
  return sign === '>' ? value > bound : value < bound
}

function pick(scrape: Scrape, metric: string, labels: Labels = {}): readonly Series[] {
  const wanted = Object.entries(labels)
  return (scrape.get(metric) ?? []).filter((series) =>
    wanted.every(([label, value]) => series.labels[label] === value),
  )
}

// How much each series of a counter grew between two scrapes. One that is new began at 0.
function grown(now: Scrape, before: Scrape, metric: string): Series[] {
  const earlier = new Map(pick(before, metric).map((one) => [nameOf(one.labels), one.value]))
  return pick(now, metric).map(({ labels, value }) => {
    const growth = value - (earlier.get(nameOf(labels)) ?? 0)
    // After a restart the counter begins again.
    return { labels, value: growth < 0 ? value : growth }
  })
}

function nameOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function sum(series: readonly Series[]): number {
  return series.reduce((total, { value }) => total + value, 0)
}
