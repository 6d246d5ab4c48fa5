import { useState } from 'preact/hooks'

/** How a table is sorted: by a column, upwards or downwards. */
export type Order<Column extends string> = {
  readonly column: Column | undefined
  readonly isDown: boolean
}

/** What a cell is compared by; what is not known comes last. */
type Key = string | number | undefined

/** Rows in the order that the visitor chose; without a choice as they come. */
export function useOrder<Row, Column extends string>(
  rows: readonly Row[],
  keyOf: (row: Row, column: Column) => Key,
) {
  const [order, setOrder] = useState<Order<Column>>({ column: undefined, isDown: true })
  const { column, isDown } = order
  const sorted =
    column === undefined
      ? rows
      : rows.toSorted((a, b) => compareKeys(keyOf(a, column), keyOf(b, column), isDown))
  const head = (name: Column) => ({
    order,
    name,
    onSort: () => setOrder({ column: name, isDown: column === name ? !isDown : true }),
  })
  return { sorted, head }
}

function compareKeys(a: Key, b: Key, isDown: boolean): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  return a === b ? 0 : a < b === isDown ? 1 : -1
}

/** The head of a column that sorts its table. */
export function SortHead<Column extends string>(props: {
  readonly order: Order<Column>
  readonly name: Column
  readonly onSort: () => void
  readonly class?: string
}) {
  const { order, name, onSort } = props
  const isSorted = order.column === name
  const way = !isSorted ? 'none' : order.isDown ? 'descending' : 'ascending'
  return (
    <th scope="col" class={props.class ?? ''} aria-sort={way}>
      <button type="button" class="sort" onClick={onSort}>
        {name}
        <span aria-hidden="true">{isSorted ? (order.isDown ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </th>
  )
}
