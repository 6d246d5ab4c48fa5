/** A map with a size limit: adding beyond it evicts the entry that was set longest ago. */
export class BoundedMap<Key, Value> {
  private readonly entries = new Map<Key, Value>()
  private readonly maxSize: number

  constructor(maxSize: number) {
    this.maxSize = maxSize
  }

  get size(): number {
    return this.entries.size
  }

  has(key: Key): boolean {
    return this.entries.has(key)
  }

  get(key: Key): Value | undefined {
    return this.entries.get(key)
  }

  /** Sets an entry, which becomes the newest. */
  set(key: Key, value: Value): void {
    const { entries } = this
    entries.delete(key)
    entries.set(key, value)
    if (entries.size > this.maxSize) entries.delete(entries.keys().next().value!)
  }

  delete(key: Key): void {
    this.entries.delete(key)
  }

  clear(): void {
    this.entries.clear()
  }
}
