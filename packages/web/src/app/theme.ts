import { effect, signal } from '@preact/signals'

const NAME = 'priorbook.theme'

/** Light, dark, or the system's setting. */
export type Theme = 'auto' | 'light' | 'dark'

/** The visitor's choice. */
export const theme = signal<Theme>(read())

/** Counts changes of colours, after which canvases must be drawn again. */
export const paint = signal(0)

/** Applies the choice, now and whenever it changes. */
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
      // Without storage the choice lasts until the page is left.
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
