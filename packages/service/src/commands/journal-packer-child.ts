import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { packJournal, type PackReport } from '../journal/index.ts'

/** What the process tells its parent: what it packed, or why it could not. */
export type PackerMessage =
  | ({ readonly type: 'packed'; readonly venue: string } & Omit<PackReport, 'damaged'>)
  | { readonly type: 'damaged'; readonly file: string }
  | { readonly type: 'trouble'; readonly error: string }

// Half of the time of a core that nobody else wants.
const SHARE = 0.5
const PAUSE_MS = 30_000

const [dir] = process.argv.slice(2)
const stop = new AbortController()
process.once('disconnect', () => stop.abort())
process.once('SIGTERM', () => stop.abort())
// The parent answers Ctrl-C, and then disconnects.
process.on('SIGINT', () => undefined)
setPriority(constants.priority.PRIORITY_LOW)

const tell = (message: PackerMessage): void => void process.send?.(message)
const damaged = new Set<string>()
let last = ''
while (!stop.signal.aborted) {
  try {
    for (const venue of VENUE_IDS) {
      const order = { dir: dir!, venue, share: SHARE, signal: stop.signal, without: damaged }
      const { damaged: found, ...packed } = await packJournal(order)
      if (packed.files > 0) tell({ type: 'packed', venue, ...packed })
      for (const file of found) {
        damaged.add(file)
        tell({ type: 'damaged', file })
      }
    }
    last = ''
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    if (!stop.signal.aborted && text !== last) tell({ type: 'trouble', error: text })
    last = text
  }
  await pause(PAUSE_MS, undefined, { signal: stop.signal }).catch(() => undefined)
}
if (process.connected) process.disconnect()
