import { effect, signal } from '@preact/signals'

const NAME = 'priorbook.theme'

/** Light, dark, or what the system says. */
export type Theme = 'auto' | 'light' | 'dark'

/** The visitor's choice. */
export const theme = signal<Theme>(read())

/** Counts changes of colour: what is drawn on a canvas must be drawn again. */
export const paint = signal(0)

/** Puts the choice on the page, now and whenever it changes. */
export function startTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = (): void => {
    const isDark = theme.peek() === 'dark' || (theme.peek() === 'auto' && dark.matches)
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
    paint.value = paint.peek() + 1
  }
  dark.addEventListener('change', apply)
  effect(() => {
    const choice = theme.value
    try {
      localStorage.setItem(NAME, choice)
    } catch {
      // The choice then lasts until the page is left.
    }
    apply()
  })
}

/** A colour of the style sheet, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(NAME)
    return kept === 'light' || kept === 'dark' ? kept : 'auto'
  } catch {
    return 'auto'
  }
}
