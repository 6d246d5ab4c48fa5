// Max items that are read before the answer begins: a family may have many markets with gaps and without rows.
const MAX_ITEMS = 1000

/**
 * Reads the items of a file up to its first rows, so that an error there, such as storage that cannot be read,
 * is still answered with a problem document. Gives all items, those that were read included.
 */
export async function readToRows<Item extends { readonly kind: string }>(
  items: AsyncGenerator<Item>,
  signal: AbortSignal,
): Promise<AsyncGenerator<Item>> {
  const read: Item[] = []
  while (read.length < MAX_ITEMS) {
    signal.throwIfAborted()
    const next = await items.next()
    if (next.done === true) break
    read.push(next.value)
    if (next.value.kind !== 'market' && next.value.kind !== 'gap') break
  }
  async function* all(): AsyncGenerator<Item> {
    try {
      yield* read
      yield* items
    } finally {
      await items.return(undefined)
    }
  }
  return all()
}
