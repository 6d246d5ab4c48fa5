import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** A table that scrolls: its ends fade where there is more, and the rows below are counted. */
export function ScrollBox(props: {
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}) {
  const ref = useRef<HTMLDivElement>(null)
  const below = useOverflow(ref)
  return (
    <div class="scroll-box">
      <div
        ref={ref}
        class={`table-scroll ${props.class ?? ''}`}
        tabIndex={0}
        role="group"
        aria-label={props.label}
      >
        {props.children}
      </div>
      {below > 0 && (
        <p class="scroll-more" aria-hidden="true">
          {below} more ↓
        </p>
      )}
    </div>
  )
}

/** Marks an element where it can be scrolled, for the style sheet; returns how many rows are below. */
export function useOverflow(ref: { readonly current: HTMLElement | null }): number {
  const [below, setBelow] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = (): void => {
      const { scrollLeft, scrollTop, clientWidth, clientHeight, scrollWidth } = element
      element.classList.toggle('more-left', scrollLeft > 1)
      element.classList.toggle('more-right', scrollWidth - clientWidth - scrollLeft > 1)
      const end = scrollTop + clientHeight
      const rows = [...element.querySelectorAll<HTMLElement>('tbody > tr')]
      const hidden = rows.filter((row) => row.offsetTop + row.offsetHeight / 2 > end).length
      element.classList.toggle('more-below', hidden > 0)
      setBelow(hidden)
    }
    measure()
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    if (element.firstElementChild !== null) watch.observe(element.firstElementChild)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      watch.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  return below
}
