import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import {
  openRecorder,
  type Recorder,
  type RecorderOptions,
  type RecorderStatus,
} from '../recorder/recorder.ts'
import type { TakeoverTarget } from '../recorder/taken-tape.ts'
import { Keeper, segmentLimits } from '../retention/keeper.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import type { StoreReader } from '../store/store.ts'
import type { SelectionOptions } from '../venues/capture/selection/selection.ts'

/** How much a recorder that stands by keeps: a database may be away for as long without a gap. */
const KEPT = '2h'

/** Rows of this much time are compared with the other recorder's. */
const WARM_MS = 12_000

/** What every recorder of a process needs. */
export type RecorderParts = Pick<
  RecorderOptions,
  'origin' | 'recorder' | 'log' | 'connectors' | 'successors' | 'tracing'
>

/**
 * Records the venues while another recorder writes the shared tape, into a tape and a journal of its own, so
 * that it can go on where the other one ended. What it kept is removed afterwards: the other one has it too.
 */
export class StandbyRecorder {
  readonly #recorder: Recorder
  readonly #store: EmbeddedStore
  readonly #folder: string
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  readonly #keeping: Promise<void>
  readonly #endKeeping = new AbortController()
  readonly #sinceMs = performance.now()
  /** True where recording ended by itself. */
  hasFailed = false
  #isStoreClosed = false

  /** `data` holds the copy of the shared tape, in which markets that have not ended are looked up. */
  static async open(
    config: Config,
    data: DataFolder,
    parts: RecorderParts,
  ): Promise<StandbyRecorder> {
    const own = ownFolder(data)
    removeStandby(data)
    const limited = withLimits(config)
    const store = openEmbeddedStore({ file: own.tape })
    try {
      const recorder = await openRecorder({
        ...parts,
        store,
        journalDir: own.journal,
        segments: (venue) => segmentLimits(limited, venue),
        withEarlier: (work) => withCopy(data, work),
      })
      const keeper = new Keeper({ store, journalDir: own.journal, config: limited, restMs: 5 })
      return new StandbyRecorder(recorder, store, own.path, keeper, parts.log)
    } catch (error) {
      await store.close()
      throw error
    }
  }

  private constructor(
    recorder: Recorder,
    store: EmbeddedStore,
    folder: string,
    keeper: Keeper,
    log: RecorderParts['log'],
  ) {
    this.#recorder = recorder
    this.#store = store
    this.#folder = folder
    this.#running = recorder.run(this.#stop.signal)
    this.#running.catch((error: unknown) => {
      this.hasFailed = true
      const detail = error instanceof Error ? error.message : String(error)
      log.error({ error: detail }, 'recording ended')
      // Its connectors must not go on without it.
      this.#stop.abort()
    })
    this.#keeping = keeper.run(this.#endKeeping.signal, log)
  }

  status(): RecorderStatus {
    return this.#recorder.status()
  }

  /** Takes other rules of selection for a venue. */
  select(venue: VenueId, selection: SelectionOptions): void {
    this.#recorder.select(venue, selection)
  }

  /** The venues that it has been recording for long enough to go on with where another one ends. */
  get ready(): readonly VenueId[] {
    const { venues, diskFull } = this.#recorder.status()
    const isWarm = performance.now() - this.#sinceMs > WARM_MS
    if (!isWarm || diskFull || this.hasFailed) return []
    return VENUE_IDS.filter(
      (venue) => (venues[venue]?.connector.state ?? 'starting') !== 'starting',
    )
  }

  /** Resolves when recording ended; rejects where it failed. */
  get running(): Promise<void> {
    return this.#running
  }

  /** Goes on in the shared tape. */
  async takeOver(target: TakeoverTarget): Promise<void> {
    await this.#recorder.takeOver(target)
    await this.#removeOwn()
  }

  /** Stops recording, whichever tape it writes. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running.catch(() => undefined)
    await this.#removeOwn()
  }

  async #removeOwn(): Promise<void> {
    if (this.#isStoreClosed) return
    this.#isStoreClosed = true
    this.#endKeeping.abort()
    await this.#keeping
    await this.#store.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Removes what a recorder that was killed while it stood by has left. */
export function removeStandby(data: DataFolder): void {
  rmSync(ownFolder(data).path, { recursive: true, force: true })
}

function ownFolder(data: DataFolder): DataFolder {
  return toDataFolder(join(data.path, 'standby'))
}

async function withCopy<T>(data: DataFolder, work: (store: StoreReader) => Promise<T>): Promise<T> {
  const copy = openEmbeddedStore({ file: data.tape, readOnly: true })
  try {
    return await work(copy)
  } finally {
    await copy.close()
  }
}

function withLimits(config: Config): Config {
  const limits = { tapeAge: KEPT, journalAge: KEPT, quarantineAge: KEPT, marketsAge: KEPT }
  const limited = { ...config, retention: { ...config.retention, ...limits } }
  for (const venue of VENUE_IDS) {
    const own = config[venue]
    Object.assign(limited, { [venue]: { ...own, retention: { ...own.retention, ...limits } } })
  }
  return limited
}
