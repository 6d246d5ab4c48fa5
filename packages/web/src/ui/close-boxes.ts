import { useEffect } from 'preact/hooks'

/** Closes what has been opened over a page as soon as something else is pressed, or Escape. */
export function useClosingBoxes(): void {
  useEffect(() => {
    const closeBut = (kept: EventTarget | null): void => {
      for (const box of document.querySelectorAll<HTMLDetailsElement>('details.box[open]')) {
        if (!(kept instanceof Node && box.contains(kept))) box.open = false
      }
    }
    const press = ({ target }: Event): void => closeBut(target)
    const escape = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') closeBut(null)
    }
    addEventListener('pointerdown', press)
    addEventListener('keydown', escape)
    return () => {
      removeEventListener('pointerdown', press)
      removeEventListener('keydown', escape)
    }
  }, [])
}
