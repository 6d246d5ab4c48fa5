/** The kinds of bytes of an installation, with what they are. */
export const BYTE_KINDS = {
  raw: 'files of the journal as they were recorded',
  archived: 'packed files of the journal',
  tape: 'chunks of the tape',
  packed: 'packs of old chunks',
  index: 'the rest of the tape: its directory, market records, lists, the log and free pages',
  elsewhere: 'chunks and files of the journal in other storage',
} as const

/** One kind of bytes. */
export type ByteKind = keyof typeof BYTE_KINDS
