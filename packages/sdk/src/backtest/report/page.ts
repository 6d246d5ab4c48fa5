import { escapeHtml } from './svg.ts'

/** A self-contained page: no script, no font, no network. */
export function toReportPage(page: {
  readonly title: string
  readonly heading: string
  readonly range: string
  readonly body: string
}): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(page.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p class="brand">Priorbook backtest</p>
<h1>${escapeHtml(page.heading)}</h1>
<p class="range">${page.range}</p>
</header>
<main>
${page.body}
</main>
</body>
</html>
`
}

/** A table with a heading; all cells are text. A row with a tone shows its last cell in that colour. */
export function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  tones: readonly string[] = [],
): string {
  const line = (tag: 'th' | 'td', cells: readonly string[], tone = ''): string =>
    `<tr${tone === '' ? '' : ` class="${tone}"`}>${cells.map((text) => `<${tag}${isNumber(text) ? ' class="number"' : ''}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`
  return `<section><h2>${escapeHtml(title)}</h2><div class="scroll" tabindex="0" role="group" aria-label="${escapeHtml(title)}"><table><thead>${line('th', head)}</thead><tbody>${rows.map((row, index) => line('td', row, tones[index])).join('')}</tbody></table></div></section>`
}

function isNumber(text: string): boolean {
  return /^-?\d[\d.,]*( %)?$/.test(text)
}

/** Two decimals; the exact amounts are in the tables and in the JSON. */
export function cents(text: string): string {
  return Number(text).toLocaleString('en-US', {
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  })
}

/** The look of a report page: light and dark, no fonts from anywhere. */
const STYLE = `
:root { --ground: #f7f7f5; --card: #ffffff; --ink: #1c1e21; --soft: #6a6f76; --rule: #e3e3df; --first: #2f5fd0; --second: #b4690e; --gain: #1b7f4d; --loss: #c0392b; --gap: #b9b4a7; }
@media (prefers-color-scheme: dark) { :root { --ground: #131416; --card: #1c1e21; --ink: #eceae6; --soft: #9a9fa6; --rule: #2e3136; --first: #7ea2ff; --second: #e0a458; --gain: #52c08a; --loss: #ff7b6b; --gap: #55524a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main { max-width: 1180px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 32px; }
.brand { margin: 0; color: var(--soft); font-size: 12px; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: 4px 0 4px; font-size: 28px; line-height: 1.2; }
h2 { margin: 0; font-size: 15px; }
.range { margin: 0 0 20px; color: var(--soft); }
.notices { margin: 0 0 20px; padding: 12px 16px 12px 34px; border-left: 4px solid var(--second); border-radius: 6px; background: var(--card); }
.notices.failed { border-color: var(--loss); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 14px; margin: 0 0 20px; }
.tile { padding: 14px 16px; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile dd.note { color: var(--soft); font-size: 13px; font-weight: 400; }
.gain { color: var(--gain); } .loss { color: var(--loss); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 14px; margin-bottom: 20px; }
figure, main > section { margin: 0; padding: 16px; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
main > section { margin-bottom: 14px; } main > section.plots { padding: 0; border: 0; background: none; }
.about { margin: 4px 0 0; color: var(--soft); font-size: 13px; }
figcaption p { margin: 2px 0 8px; color: var(--soft); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--rule); } .tick { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .line.first { stroke: var(--first); } .line.second { stroke: var(--second); stroke-width: 1.2; stroke-dasharray: 4 3; } .line.rule { stroke: var(--soft); stroke-dasharray: 3 4; stroke-width: 1; }
.area.loss { fill: var(--loss); fill-opacity: .25; stroke: var(--loss); }
.solid.gain { fill: var(--gain); } .solid.loss { fill: var(--loss); } .solid.first { fill: var(--first); } .solid.second { fill: var(--second); }
.gap { fill: var(--gap); fill-opacity: .35; }
.dot { fill: var(--first); } .dot.second { fill: var(--second); } .span { stroke: var(--first); stroke-width: 6; stroke-opacity: .3; stroke-linecap: round; }
path.buy { stroke: var(--gain); fill: var(--gain); } path.sell { stroke: var(--loss); fill: var(--loss); } path.maker { fill: none; stroke-width: 1.3; } path.taker { fill-opacity: .7; stroke: none; }
.line.bid { stroke: var(--gain); stroke-width: 1.2; } .line.ask { stroke: var(--loss); stroke-width: 1.2; }
.hatch { stroke: var(--soft); stroke-width: .8; stroke-opacity: .7; fill: none; }
.markets-plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 14px; margin-top: 12px; }
.markets-plots figure { max-width: 760px; padding: 0; border: 0; } .markets-plots h3 { margin: 0; font-size: 14px; overflow-wrap: anywhere; } figcaption p { overflow-wrap: anywhere; }
a { color: var(--first); } svg a path:hover { fill-opacity: 1; stroke: var(--ink); }
.better td:last-child { color: var(--gain); } .worse td:last-child { color: var(--loss); }
.none { fill: var(--soft); font-size: 14px; }
.scroll { overflow-x: auto; margin-top: 8px; }
table { width: 100%; min-width: 560px; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; } td.number { text-align: right; padding-right: 18px; white-space: nowrap; }
footer { padding: 8px 0 40px; color: var(--soft); font-size: 13px; }
`
