import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { readersOf, SMALL_LIMITS } from '../store/embedded/opened-tape.testing.ts'
import type { TapeCopy } from '../store/embedded/shared/copy.ts'
import type { OpenedStore } from '../store/store-opened.testing.ts'
import type { Store } from '../store/store.ts'
import { SharedTape, type Lease } from './shared-tape.ts'
import { openCopy } from './tape-copy.ts'
import { openSharedWriter } from './writer.ts'

const LEASE_MS = 60_000
const WRITES = new Set<keyof Store>(['append', 'seal', 'retain'])

/**
 * A shared tape at an address, for the contract of a store: what one machine writes, another one reads. The
 * writer sends its commits and the reader's copy applies them before the call that made them returns.
 */
export async function openSharedTape(address: string, readAddress = address): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-shared-'))
  const tape = new SharedTape(address)
  const source = readAddress === address ? tape : new SharedTape(readAddress)
  await tape.prepare()
  const written = join(folder, 'writer.db')
  const file = join(folder, 'reader.db')
  const backupFile = join(folder, 'backup.db')
  const opened: Store[] = []
  const keep = <T extends Store>(store: T): T => {
    opened.push(store)
    return store
  }
  let lease: Lease
  let writer: EmbeddedStore
  const openWriter = async (): Promise<void> => {
    lease = (await tape.take('writer', LEASE_MS))!
    writer = keep(
      await openSharedWriter(tape, lease, { file: written, limits: SMALL_LIMITS }, () => undefined),
    )
    await send(tape, lease, writer)
  }
  await openWriter()
  await tape.fold(0)
  const copy = await openCopy(source, file, false, () => undefined)
  let reader = keep(openEmbeddedStore({ file, readOnly: true }))
  let isClosed = false
  let synced = Promise.resolve()
  // One after the other, as the sender and the follower of a machine do it.
  const sync = (): Promise<void> => {
    synced = synced.then(async () => {
      // What a closed writer has not sent is sent when it is opened again.
      if (isClosed) return
      await send(tape, lease, writer)
      await follow(tape, source, copy, () => reader)
    })
    return synced
  }
  await sync()
  const close = async (): Promise<void> => {
    isClosed = true
    await Promise.all([writer.close(), reader.close()])
  }
  const open = (): Store =>
    withReader(
      () => writer,
      () => reader,
      sync,
      close,
    )
  return {
    store: open(),
    async reopen() {
      await writer.close()
      await openWriter()
      isClosed = false
      await reader.close()
      reader = keep(openEmbeddedStore({ file, readOnly: true }))
      await sync()
      return open()
    },
    ...readersOf(file, backupFile, keep),
    async destroy() {
      for (const store of opened) await store.close()
      copy.close()
      await tape.close()
      if (source !== tape) await source.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function send(tape: SharedTape, lease: Lease, { outbox }: EmbeddedStore): Promise<void> {
  for (;;) {
    const commits = outbox!.read(100_000)
    if (commits.length === 0) return
    await tape.append(lease, commits)
    outbox!.sent(commits.at(-1)!.id)
  }
}

// A standby may be behind; the machine that reads from it waits. The reader looks after every commit, so
// that its handle sees what a handle of the writer sees.
async function follow(
  tape: SharedTape,
  source: SharedTape,
  copy: TapeCopy,
  reader: () => Store,
): Promise<void> {
  const { last } = await tape.state()
  for (let { commit } = copy.place()!; commit < last;) {
    const commits = await source.read(copy.place()!, 1)
    if (commits === undefined) throw new Error('the copy lost its place')
    copy.apply(commits)
    await reader().appliedPosition('venuea')
    commit += commits.length
  }
}

function withReader(
  writer: () => EmbeddedStore,
  reader: () => Store,
  sync: () => Promise<void>,
  close: () => Promise<void>,
): Store {
  return new Proxy({} as Store, {
    get(_, name: keyof Store) {
      if (name === 'close') return close
      const target = WRITES.has(name) ? writer() : reader()
      const member = target[name] as unknown
      if (typeof member !== 'function') return member
      if (!WRITES.has(name)) return member.bind(target) as unknown
      return async (...args: unknown[]) => {
        const call = member as (...values: unknown[]) => Promise<unknown>
        const result = await call.apply(target, args)
        await sync()
        return result
      }
    },
  })
}
