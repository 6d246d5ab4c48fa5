import { escapeHtml } from '../report/svg.ts'
import type { HeatMap, SweepSummary } from './sweep-summary.ts'

const CELL = 56
const LEFT = 150
const TOP = 70

/** A page with the heat map of a sweep and its best run; it needs no network. */
export function sweepHtml(summary: SweepSummary): string {
  const { best, tries, neighbours, deflated, heat_map: map } = summary
  const params = Object.entries(best.params).map(([name, value]) => `${name}=${String(value)}`)
  const around = neighbours.map(({ pnl }) => Number(pnl))
  const mean = around.reduce((sum, pnl) => sum + pnl, 0) / Math.max(1, around.length)
  const facts = [
    `Best of ${tries} tries: ${best.pnl} with ${params.join(', ')}.`,
    around.length === 0
      ? 'It has no neighbours.'
      : `Its ${around.length} neighbours: ${mean.toFixed(4)} on average, ${Math.min(...around).toFixed(4)} at worst.`,
    deflated === null
      ? 'Too few events for a Sharpe ratio.'
      : `Sharpe ratio by event ${best.sharpe!.ratio.toFixed(3)}; the best of ${tries} tries without skill shows ${deflated.expected_best.toFixed(3)}; probability of more than that ${(deflated.probability * 100).toFixed(1)} %.`,
  ]
  const lines = facts.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sweep</title>
<style>:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:2rem;max-width:70rem}svg{max-width:100%;height:auto}svg text{font-size:12px;fill:currentColor}svg .on{fill:#000}</style>
</head><body><h1>Sweep</h1>
${lines}
${map === null ? '' : heatMapSvg(map)}
</body></html>
`
}

/** A heat map as SVG: gains are blue, losses orange, both by their size. */
function heatMapSvg({ x, y, values }: HeatMap): string {
  const shown = values.flat().filter((value) => value !== null)
  const most = Math.max(...shown.map(Math.abs), 1e-9)
  const width = LEFT + x.labels.length * CELL + 10
  const height = TOP + values.length * CELL + 10
  const parts = values.flatMap((row, line) =>
    row.map((value, column) => cellSvg(value, most, LEFT + column * CELL, TOP + line * CELL)),
  )
  const columns = x.labels.map((label, index) => {
    const at = LEFT + (index + 0.5) * CELL
    return `<text x="${at}" y="${TOP - 8}" text-anchor="middle">${escapeHtml(label)}</text>`
  })
  const rows = (y?.labels ?? []).map((label, index) => {
    const at = TOP + (index + 0.6) * CELL
    return `<text x="${LEFT - 8}" y="${at}" text-anchor="end">${escapeHtml(label)}</text>`
  })
  const names = [
    `<text x="${LEFT}" y="24">${escapeHtml(x.param)} →</text>`,
    ...(y === null ? [] : [`<text x="8" y="${TOP - 8}">${escapeHtml(y.param)} ↓</text>`]),
  ]
  const body = [...names, ...columns, ...rows, ...parts].join('\n')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="Mean result by parameters">\n${body}\n</svg>`
}

function cellSvg(value: number | null, most: number, left: number, top: number): string {
  if (value === null) return ''
  const strength = Math.abs(value) / most
  const hue = value >= 0 ? 215 : 30
  const fill = `hsl(${hue} 85% ${Math.round(96 - 36 * strength)}%)`
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)))
  return `<rect x="${left + 1}" y="${top + 1}" width="${CELL - 2}" height="${CELL - 2}" fill="${fill}"/><text class="on" x="${left + CELL / 2}" y="${top + CELL * 0.6}" text-anchor="middle">${text}</text>`
}
