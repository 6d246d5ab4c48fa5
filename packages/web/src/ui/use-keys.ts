import { useEffect } from 'preact/hooks'

// Controls that use keys themselves; a space also presses buttons and links. A dialog that was closed may keep the
// focus until the next frame.
const TYPING = 'input, select, textarea, dialog[open]'
const PRESSING = `${TYPING}, button, a, summary`

/** Keys of a page and what they do; `Shift+` is part of a name where the key itself has no capital. */
export function useKeys(
  keys: Readonly<Record<string, () => void>>,
  dependencies: readonly unknown[],
): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { key, target } = event
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return
      const own = key === ' ' ? PRESSING : TYPING
      if (target instanceof Element && target.closest(own) !== null) return
      const act = keys[event.shiftKey && key.length > 1 ? `Shift+${key}` : key]
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, dependencies)
}
