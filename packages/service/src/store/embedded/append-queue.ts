import type { AppendBatch } from '../store.ts'
import type { Session } from './session.ts'
import { isOutOfSpace } from './writer.ts'

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
