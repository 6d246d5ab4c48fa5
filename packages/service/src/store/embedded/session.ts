import { PriorbookError } from '@priorbook/sdk/domain'
import type { AppendBatch } from '../store.ts'
import type { Fetched } from './bodies.ts'
import { isLost } from '../../objects/object-store.ts'
import { ColdMiss, type ColdRead } from './cold/cold-source.ts'
import { ASKED, type Database } from './database.ts'
import type { View } from './view.ts'
import { isOutOfSpace, type Writer } from './writer.ts'

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

  /** Runs `work` on one consistent moment of the database; `fetched` are bytes of chunks that it may need. */
  readonly read = async <T>(work: () => T, fetched?: Fetched): Promise<T> => {
    this.ensureOpen()
    const { database, view } = this
    // Most pages come from decoded chunks alone; for them a transaction's locks would cost the most.
    if (view.isCurrent) {
      const result = database.withoutAsking(work)
      if (result !== ASKED) return result as T
    }
    // This process is the only writer of the tape and the work does not wait, so nothing changes while it runs.
    if (this.writer !== undefined) return this.fetching(work, fetched)
    return this.fetching(
      () =>
        database.read(() => {
          view.refresh()
          return work()
        }),
      fetched,
    )
  }

  // Runs work on memory and the database. Where it lacks a chunk that is in other storage, the chunk is
  // fetched and the work is run again.
  private async fetching<T>(work: () => T, fetched: Fetched = new Map()): Promise<T> {
    const { bodies } = this.view
    const read: ColdRead = { name: '', block: 0, row: 0 }
    for (;;) {
      bodies.fetched = fetched
      let miss: ColdMiss
      try {
        return work()
      } catch (error) {
        if (!(error instanceof ColdMiss)) throw error
        miss = error
      } finally {
        bodies.fetched = undefined
      }
      const bytes = bodies.cold!.fetch(miss.place, read)
      fetched.set(miss.place.body, await bytes.catch(undefinedIfLost))
      this.ensureOpen()
    }
  }

  /** Runs work with the writer that can be run again from its start, as reads are. */
  writeAgain<T>(work: (writer: Writer) => T): Promise<T> {
    return this.write((writer) => this.fetching(() => work(writer)))
  }

  /** Runs `work` with the writer; rejects with `store_read_only` where there is none. */
  async write<T>(work: (writer: Writer) => T | Promise<T>): Promise<T> {
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

function undefinedIfLost(error: unknown): undefined {
  if (!isLost(error)) throw error
}

type Waiting = {
  readonly batch: AppendBatch
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Commits the batches that are appended in one turn of the event loop together, with one sync. */
export class AppendQueue {
  private readonly session: Session
  private waiting: Waiting[] = []

  constructor(session: Session) {
    this.session = session
  }

  /** Resolves when the batch is durable. */
  async append(batch: AppendBatch): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    await this.session.write(() => {
      this.waiting.push({ batch, resolve, reject })
      if (this.waiting.length === 1) queueMicrotask(() => this.flush())
    })
    await promise
  }

  /** Commits what is waiting. */
  flush(): void {
    const group = this.waiting
    this.waiting = []
    if (group.length === 0) return
    try {
      this.session.writer!.commit(group.map(({ batch }) => batch))
      for (const { resolve } of group) resolve()
    } catch (error) {
      // A bad batch must not fail its neighbours, so each is retried alone. On a full disk none is
      // retried: a smaller batch that still fits would move the position past those that did not.
      if (group.length === 1 || isOutOfSpace(error)) for (const { reject } of group) reject(error)
      else for (const one of group) this.commitAlone(one)
    }
  }

  private commitAlone({ batch, resolve, reject }: Waiting): void {
    try {
      this.session.writer!.commit([batch])
      resolve()
    } catch (error) {
      reject(error)
    }
  }
}
