import { compareReports } from './comparison.ts'
import { table, toReportPage } from './page.ts'
import type { Report } from './report-shape.ts'
import { createFrame, drawing, escapeHtml, polyline, shortNumber, stepped } from './svg.ts'

// Max markets listed.
const LISTED_MARKETS = 200
const MONEY = 1e8

/** Two reports on one self-contained page: no script, no font, no network. */
export function comparisonHtml(
  first: Report,
  second: Report,
  names: readonly [first: string, second: string],
): string {
  const { figures, differences, markets, confidence } = compareReports(first, second)
  const band =
    confidence.low === null || confidence.is_small
      ? `Too few events (${confidence.events}) for a confidence band of the difference.`
      : `Second less first: 95 % between ${confidence.low.toFixed(2)} and ${confidence.high!.toFixed(2)} over ${confidence.events} events, resampled.`
  const heads = ['figure', ...names, 'difference']
  const listed = markets.slice(0, LISTED_MARKETS)
  const body = `<ul class="notices complete"><li>${escapeHtml(band)}</li></ul>
<section class="plots"><figure><figcaption><h2>Result over time</h2><p>${escapeHtml(names[0])} (solid) and ${escapeHtml(names[1])} (dashed), each from its own start.</p></figcaption>${curves(first, second)}</figure></section>
${table(
  'Figures',
  heads,
  figures.map((each) => [each.name, each.first, each.second, each.difference]),
  figures.map(({ isBetter }) => (isBetter === undefined ? '' : isBetter ? 'better' : 'worse')),
)}
${table('What the runs do not have in common', ['what', ...names], differences)}
${table(
  'Markets, the largest differences first',
  ['market', ...names, 'difference'],
  listed.map((each) => [each.market, each.first ?? '–', each.second ?? '–', each.difference]),
)}
<footer>${[...new Set([...first.disclaimer, ...second.disclaimer])].map((text) => `<p>${escapeHtml(text)}</p>`).join('')}</footer>`
  return toReportPage({
    title: `${names[0]} and ${names[1]}`,
    heading: `${names[0]} and ${names[1]}`,
    range: escapeHtml(`${first.run.strategy} and ${second.run.strategy}`),
    body,
  })
}

function curves(first: Report, second: Report): string {
  const lines = [first, second].map(({ equity, headline }) => {
    const [start = 0] = equity[0] ?? []
    return equity.map(
      ([at, value]) => [at - start, value / MONEY - Number(headline.start)] as const,
    )
  })
  const all = lines.flat()
  const values = all.map(([, value]) => value)
  const frame = createFrame(
    [0, Math.max(1, ...all.map(([at]) => at))],
    [Math.min(0, ...values), Math.max(0, ...values)],
  )
  const body =
    polyline(frame, stepped(lines[1]!), 'line second') +
    polyline(frame, stepped(lines[0]!), 'line first')
  const hour = 3_600_000_000
  const [, end] = frame.xs
  const xTicks = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => {
    const at = end * part
    return [
      at,
      end > 48 * hour ? `${(at / hour / 24).toFixed(1)} d` : `${(at / hour).toFixed(2)} h`,
    ] as const
  })
  return drawing(frame, body, { xTicks, yFormat: shortNumber, name: 'Result over time of both' })
}
