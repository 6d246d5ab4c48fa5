import { effect, signal } from '@preact/signals'
import { remembered } from './remembered.ts'
import { prices, zone } from './show.ts'

/** Light, dark, or the system's setting. */
export type Theme = 'auto' | 'light' | 'dark'

/** The visitor's choice. */
export const theme = remembered<Theme>('priorbook.theme', ['auto', 'light', 'dark'])

/** Counts changes of colours, units and clock, after which canvases must be drawn again. */
export const paint = signal(0)

/** Applies the choice, now and whenever it changes. Paper is light, whatever the choice is. */
export function startTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const paper = matchMedia('print')
  let isPrinting = paper.matches
  const apply = (): void => {
    const isDark = theme.peek() === 'dark' || (theme.peek() === 'auto' && dark.matches)
    document.documentElement.dataset['theme'] = isDark && !isPrinting ? 'dark' : 'light'
    paint.value = paint.peek() + 1
  }
  const print = (isNow: boolean): void => {
    if (isPrinting === isNow) return
    isPrinting = isNow
    apply()
  }
  dark.addEventListener('change', apply)
  paper.addEventListener('change', () => print(paper.matches))
  // Canvases must be drawn again before the page is laid out on paper.
  addEventListener('beforeprint', () => print(true))
  addEventListener('afterprint', () => print(false))
  effect(() => {
    // Charts write prices and times as the visitor wants them.
    void [theme.value, prices.value, zone.value]
    apply()
  })
}

/** A colour of the style sheet, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
