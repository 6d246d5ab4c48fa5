import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ProofBook } from './proof-book.ts'
import { PROOFS_FILE, ProofDatabase } from './proof-database.ts'

/** Gives the signed roots of a data folder, once there are any. */
export type ProofReader = {
  /** Undefined while nothing was ever signed here. */
  book(): ProofBook | undefined
  close(): void
}

/** Reads the roots of a data folder, which a recorder may create later. */
export function createProofReader(folder: string): ProofReader {
  let book: ProofBook | undefined
  return {
    book() {
      if (book === undefined && existsSync(join(folder, PROOFS_FILE))) {
        book = new ProofBook(new ProofDatabase(folder, true))
      }
      return book
    },
    close: () => book?.close(),
  }
}
