import type { CategoryJson } from '@priorbook/sdk/wire'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { useLoad } from '../app/use-load.ts'
import { printCount } from '../model/decimal.ts'
import { mergeCategories } from '../model/categories.ts'
import { printPlace, type Place } from '../model/place.ts'

const EVERY_MS = 60_000

/** Links to the headings of all venues; nothing where the venues have none. */
export function CategoryChips(props: {
  readonly chosen: string | undefined
  readonly count: 'open_market_count' | 'open_event_count'
  /** The page of a heading; an empty one is all of them. */
  readonly placeOf: (category: string) => Place
}) {
  const { chosen, count, placeOf } = props
  const panel = useMemo(createPanel, [key.value])
  const { data } = useLoad(
    async (signal): Promise<readonly CategoryJson[]> => {
      panel.note('categories')
      return (await panel.client.categories({}, { signal })).data
    },
    [panel],
    EVERY_MS,
  )
  const categories = mergeCategories(data ?? [], count, chosen)
  if (categories.length === 0) return null
  return (
    <nav class="chips" aria-label="Categories">
      <Chip href={printPlace(placeOf(''))} isChosen={chosen === undefined}>
        All
      </Chip>
      {categories.map(({ name, open, isChosen }) => (
        <Chip key={name} href={printPlace(placeOf(name))} isChosen={isChosen}>
          {name} <span class="chip-count">{printCount(open)}</span>
          <span class="sr"> open</span>
        </Chip>
      ))}
    </nav>
  )
}

function Chip(props: {
  readonly href: string
  readonly isChosen: boolean
  readonly children: ComponentChildren
}) {
  return (
    <a
      class="chip"
      href={props.href}
      {...(props.isChosen ? { 'aria-current': 'true' as const } : {})}
    >
      {props.children}
    </a>
  )
}
