import { PriorbookError } from '@priorbook/sdk/domain'

/** The labels of a series. */
export type Labels = Readonly<Record<string, string>>

/** One series with its value at the time of a scrape. */
export type Series = { readonly labels: Labels; readonly value: number }

/** What a service exposed at one moment, by the name of the metric. */
export type Scrape = ReadonlyMap<string, readonly Series[]>

const ANSWER_MS = 10_000

/** Fetches the metrics of a running service. */
export async function fetchScrape(url: string): Promise<Scrape> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    return parseScrape(text)
  } catch (cause) {
    if (cause instanceof PriorbookError) throw cause
    const { message } = cause as Error
    throw new PriorbookError('upstream_failed', `${url} cannot be read: ${message}`, { cause })
  }
}

/** Parses metrics in the text format of Prometheus; comments are skipped. */
export function parseScrape(text: string): Scrape {
  const scrape = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const match = LINE.exec(line)
    if (match === null) {
      throw new PriorbookError('invalid_message', `not a line of metrics: ${line.slice(0, 80)}`)
    }
    const [, name, labels = '', value] = match
    const series = scrape.get(name!) ?? []
    series.push({ labels: parseLabels(labels), value: toValue(value!) })
    scrape.set(name!, series)
  }
  return scrape
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

function parseLabels(text: string): Labels {
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name, value]) => [name!, unescape(value!)]),
  )
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
}

function toValue(text: string): number {
  if (text === '+Inf') return Infinity
  return text === '-Inf' ? -Infinity : Number(text)
}
