/** A map with a limit of bytes: adding beyond it evicts the entries that were used longest ago. */
export class ByteBoundedMap<Key, Value extends { readonly byteLength: number }> {
  private readonly entries = new Map<Key, Value>()
  private readonly maxBytes: number
  private held = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** The bytes of all entries: never more than the limit. */
  get byteLength(): number {
    return this.held
  }

  /** An entry, which becomes the newest. */
  get(key: Key): Value | undefined {
    const value = this.entries.get(key)
    if (value === undefined) return undefined
    this.entries.delete(key)
    this.entries.set(key, value)
    return value
  }

  /** Sets an entry, whose `byteLength` must not change. One that is larger than the limit is not kept. */
  set(key: Key, value: Value): void {
    const { entries } = this
    this.held += value.byteLength - (entries.get(key)?.byteLength ?? 0)
    entries.delete(key)
    entries.set(key, value)
    for (const [oldest, { byteLength }] of entries) {
      if (this.held <= this.maxBytes) break
      entries.delete(oldest)
      this.held -= byteLength
    }
  }

  clear(): void {
    this.entries.clear()
    this.held = 0
  }
}
