import { chmodSync, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { PROOFS_FILE, ProofDatabase } from './proof-database.ts'
import { PROOF_KEY_FILE } from './proof-key.ts'

/** Copies key and roots of a data folder into another one; does nothing where there are none. */
export function copyProofs(fromFolder: string, toFolder: string): void {
  const key = join(fromFolder, PROOF_KEY_FILE)
  if (existsSync(key)) {
    const copy = join(toFolder, PROOF_KEY_FILE)
    copyFileSync(key, copy)
    chmodSync(copy, 0o600)
  }
  if (!existsSync(join(fromFolder, PROOFS_FILE))) return
  const database = new ProofDatabase(fromFolder, true)
  try {
    database.copyTo(join(toFolder, PROOFS_FILE))
  } finally {
    database.close()
  }
}

/** How many roots a data folder has, and whether it has the key that signs them. */
export function countProofs(folder: string): { readonly roots: number; readonly hasKey: boolean } {
  const hasKey = existsSync(join(folder, PROOF_KEY_FILE))
  if (!existsSync(join(folder, PROOFS_FILE))) return { roots: 0, hasKey }
  const database = new ProofDatabase(folder, true)
  try {
    const [row] = database.all<{ roots: number }>('SELECT count(*) AS roots FROM statement')
    return { roots: row?.roots ?? 0, hasKey }
  } finally {
    database.close()
  }
}
