/** Bytes that can be read at any place, such as a file. */
export interface ByteStore {
  /** How messages call it. */
  readonly name: string
  /** Exactly so many bytes, or an error. They are the caller's. */
  read(offset: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}
