/** The records of one block while they are collected: columns of `count` entries, `used` bytes. */
export type Columns = {
  readonly recorder: string
  readonly count: number
  readonly received: Float64Array
  readonly kinds: Uint8Array
  readonly lengths: Uint32Array
  readonly used: number
  readonly bytes: Uint8Array
}
