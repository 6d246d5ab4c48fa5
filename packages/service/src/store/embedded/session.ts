import { PriorbookError } from '@priorbook/sdk/domain'
import { ASKED, type Database } from './database.ts'
import type { View } from './view.ts'
import type { Writer } from './writer.ts'

/** One opened tape: runs reads on one moment of the database and writes through its only writer. */
export class Session {
  readonly database: Database
  readonly view: View
  /** Absent when the tape was opened for reading. */
  readonly writer: Writer | undefined
  private isClosed = false

  constructor(view: View, writer: Writer | undefined) {
    this.database = view.database
    this.view = view
    this.writer = writer
  }

  /** Runs `work` on one consistent moment of the database. */
  readonly read = async <T>(work: () => T): Promise<T> => {
    this.ensureOpen()
    const { database, view } = this
    // Most pages come from decoded chunks alone; for them a transaction's locks would cost the most.
    if (view.isCurrent) {
      const result = database.withoutAsking(work)
      if (result !== ASKED) return result as T
    }
    return database.read(() => {
      view.refresh()
      return work()
    })
  }

  /** Runs `work` with the writer; rejects with `store_read_only` where there is none. */
  async write<T>(work: (writer: Writer) => T): Promise<T> {
    this.ensureOpen()
    if (this.writer === undefined) {
      const { file } = this.database
      throw new PriorbookError('store_read_only', `${file} was opened for reading only`)
    }
    return work(this.writer)
  }

  /** Throws `store_closed` after `close`. */
  ensureOpen(): void {
    if (this.isClosed) throw new PriorbookError('store_closed', '')
  }

  /** Runs `beforeClose` and closes the database; false when that has been done before. */
  close(beforeClose: () => void): boolean {
    if (this.isClosed) return false
    beforeClose()
    this.isClosed = true
    this.database.close()
    return true
  }
}
