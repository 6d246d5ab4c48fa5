import { showExact, zoneName } from '../app/show.ts'
import { colour } from '../app/theme.ts'
import { saveFile } from './save-file.ts'

const HEAD = 44
const MARGIN = 12

/** Saves the charts of a panel as a picture, with its title, its legend and where it comes from. */
export async function savePicture(panel: HTMLElement, title: string): Promise<void> {
  const blob = await new Promise<Blob | null>((resolve) => {
    drawPicture(panel, title).toBlob(resolve, 'image/png')
  })
  if (blob === null) return
  const name = `${document.title} ${title}`.replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()
  saveFile(new File([blob], `${name}.png`, { type: 'image/png' }))
}

function drawPicture(panel: HTMLElement, title: string): HTMLCanvasElement {
  const ratio = devicePixelRatio
  const charts = [...panel.querySelectorAll<HTMLCanvasElement>('.chart canvas')]
  const boxes = charts.map((chart) => chart.getBoundingClientRect())
  const [left, top] = [
    Math.min(...boxes.map((box) => box.left)),
    Math.min(...boxes.map((box) => box.top)),
  ]
  const width = Math.max(...boxes.map((box) => box.right)) - left
  const height = Math.max(...boxes.map((box) => box.bottom)) - top
  const picture = document.createElement('canvas')
  picture.width = Math.round((width + 2 * MARGIN) * ratio)
  picture.height = Math.round((height + HEAD + MARGIN) * ratio)
  const context = picture.getContext('2d')!
  context.scale(ratio, ratio)
  context.fillStyle = colour('card')
  context.fillRect(0, 0, width + 2 * MARGIN, height + HEAD + MARGIN)
  context.fillStyle = colour('ink')
  context.font = `600 13px ${colour('font')}`
  const heading = document.querySelector('h1')?.textContent ?? ''
  context.fillText(`${heading} · ${title}`, MARGIN, 18, width)
  context.fillStyle = colour('soft')
  context.font = `11px ${colour('font')}`
  const now = Date.now() * 1000
  const legend = panel.querySelector<HTMLElement>('.panel-head .legend')?.innerText ?? ''
  const source = `${legend.replaceAll(/\s+/g, ' ')} · ${location.host} · ${showExact(now).slice(0, 16)} ${zoneName(now)}`
  context.fillText(source, MARGIN, 35, width)
  for (const [index, chart] of charts.entries()) {
    const box = boxes[index]!
    const [x, y] = [MARGIN + box.left - left, HEAD + box.top - top]
    context.drawImage(chart, x, y, box.width, box.height)
  }
  return picture
}
