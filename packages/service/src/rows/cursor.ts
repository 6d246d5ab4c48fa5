/** The positions of a walk over several lanes, as a cursor keeps them. */
export type WalkPositions = {
  /** The last number that was passed of each lane; absent before its first row. */
  readonly lanes: readonly (number | undefined)[]
  /** The received time of the last row that was passed; absent before the first. */
  readonly received?: number | undefined
}

type State = Readonly<Record<string, string | number>>

/** The positions as members of a cursor. */
export function printPositions({ lanes, received }: WalkPositions): { p: string; t: number } {
  return { p: printList(lanes), t: received ?? -1 }
}

/** Reads positions out of a cursor, also out of those that version 0.1 made for trades and samples. */
export function readPositions(state: State, keys: readonly string[]): WalkPositions {
  if (state['p'] === undefined) {
    const numberOf = (name: string): number | undefined => state[name] as number | undefined
    return { lanes: keys.map((key) => numberOf(`after ${key}`)), received: numberOf('at') }
  }
  const received = Number(state['t'])
  return { lanes: readList(state['p'], keys.length), received: received < 0 ? undefined : received }
}

/** Numbers as text with commas; absent ones are empty. */
export function printList(values: readonly (number | undefined)[]): string {
  return values.map((value) => value ?? '').join(',')
}

/** Reads `length` numbers of what `printList` wrote. */
export function readList(
  text: string | number | undefined,
  length: number,
): (number | undefined)[] {
  const texts = String(text ?? '').split(',')
  return Array.from({ length }, (_, index) => {
    const value = texts[index] ?? ''
    return value === '' ? undefined : Number(value)
  })
}
