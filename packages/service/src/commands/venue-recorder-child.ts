import type { VenueId } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { sleep } from '../lib/wait.ts'
import { withMethods } from '../lib/with-methods.ts'
import { openRecorder, type Recorder, type RecorderStatus } from '../recorder/recorder.ts'
import { segmentLimits } from '../retention/keeper.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import type { AppendBatch, StoreWriter } from '../store/store.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import type { SelectionOptions } from '../venues/capture/selection/selection.ts'
import { toConnectors, type EmulatedAddresses } from './emulated.ts'
import { startTracing } from './start-tracing.ts'
import { fromRefusal, toRefusal, type Refusal } from './venue-refusal.ts'

/** What the process of one venue records, and where. */
export type VenueOrder = {
  readonly venue: VenueId
  readonly config: Config
  /** Absent where the real venues are recorded. */
  readonly addresses?: EmulatedAddresses | undefined
  readonly tape: string
  readonly journalDir: string
}

/** A message of the process of a venue to its parent. */
export type VenueMessage =
  | { readonly kind: 'append'; readonly id: number; readonly batch: AppendBatch }
  | { readonly kind: 'status'; readonly status: RecorderStatus }
  | {
      readonly kind: 'log'
      readonly level: keyof CaptureLog
      readonly fields: object
      readonly message: string
    }
  | ({ readonly kind: 'failed' } & Refusal)

/** A message of the parent to the process of a venue. */
export type OrderMessage =
  | { readonly kind: 'start'; readonly order: VenueOrder }
  | { readonly kind: 'stored'; readonly id: number }
  | ({ readonly kind: 'refused'; readonly id: number } & Refusal)
  | { readonly kind: 'select'; readonly selection: SelectionOptions }
  | { readonly kind: 'stop' }

const STATUS_MS = 1000

/** Reads the tape itself and lets the parent, its only writer, append. */
class ParentStore {
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  #id = 0

  /** The reader as a store that can be written. */
  over(reader: EmbeddedStore): StoreWriter {
    return withMethods<StoreWriter>(reader, { append: (batch) => this.#append(batch) })
  }

  stored(id: number): void {
    this.#take(id).resolve()
  }

  refused(id: number, refusal: Refusal): void {
    this.#take(id).reject(fromRefusal(refusal))
  }

  #append(batch: AppendBatch): Promise<void> {
    const id = ++this.#id
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(id, waiting)
    tell({ kind: 'append', id, batch })
    return waiting.promise
  }

  #take(id: number): PromiseWithResolvers<void> {
    const waiting = this.#waiting.get(id)!
    this.#waiting.delete(id)
    return waiting
  }
}

const stop = new AbortController()
const parent = new ParentStore()
let select: (selection: SelectionOptions) => void = () => undefined

const tell = (message: VenueMessage): void => {
  // Without a function for the error, a parent that is gone would end the process before it can leave in order.
  if (process.connected) process.send?.(message, () => undefined)
}

const say =
  (level: keyof CaptureLog) =>
  (fields: object, message: string): void =>
    tell({ kind: 'log', level, fields, message })

async function run({ venue, config, addresses, tape, journalDir }: VenueOrder): Promise<void> {
  const tracing = config.tracing.export === 'off' ? undefined : await startTracing('recorder')
  const coldCacheBytes = config.cold.cacheMb * 1e6
  const reader = openEmbeddedStore({ file: tape, readOnly: true, coldCacheBytes })
  const recorder = await openRecorder({
    store: parent.over(reader),
    journalDir,
    origin: addresses === undefined ? 'live' : 'emulator',
    recorder: config.recorder,
    log: { info: say('info'), warn: say('warn'), error: say('error') },
    connectors: { [venue]: toConnectors(config, addresses)[venue]! },
    segments: (one) => segmentLimits(config, one),
    ...(tracing === undefined ? {} : { tracing }),
  })
  select = (selection) => recorder.select(venue, selection)
  const telling = tellStatus(recorder)
  await recorder.run(stop.signal)
  await telling
  await reader.close()
  await tracing?.close()
}

async function tellStatus(recorder: Recorder): Promise<void> {
  while (!stop.signal.aborted) {
    tell({ kind: 'status', status: recorder.status() })
    await sleep(STATUS_MS, stop.signal)
  }
}

process.on('message', (message: OrderMessage) => {
  switch (message.kind) {
    case 'start':
      run(message.order).then(
        () => process.disconnect(),
        (error: unknown) => {
          tell({ kind: 'failed', ...toRefusal(error) })
          process.exitCode = 1
          process.disconnect()
        },
      )
      break
    case 'stored':
      parent.stored(message.id)
      break
    case 'refused':
      parent.refused(message.id, message)
      break
    case 'select':
      select(message.selection)
      break
    case 'stop':
      stop.abort()
      break
  }
})
// Without its parent nothing can be stored, and another process may go on with the journal at once.
process.once('disconnect', () => process.exit())
// Signals to the whole group are for the parent, which then says how to stop.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
