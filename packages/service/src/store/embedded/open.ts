import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { PriorbookError, type ErrorCode, type VenueId } from '@priorbook/sdk/domain'
import type { TapePlatform } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { makeFolder } from '../../lib/make-folder.ts'
import type { InstrumentRef, Progress, Store } from '../store.ts'
import { adoptStreams } from './adopt.ts'
import { surveyBytes, type ByteSurveyStep } from './byte-survey.ts'
import { AppendQueue, Session } from './session.ts'
import { checkCold } from './cold/check.ts'
import { countCold, listAddresses, ownerOf, type ColdCounts } from './cold/cold-places.ts'
import { createColdSource } from './cold/cold-source.ts'
import { movableBytes, moveCold, type MoveOrder, type MoveReport } from './cold/move.ts'
import { Database } from './database.ts'
import { removeMarkets } from './old-markets.ts'
import { removeRevisions } from './old-revisions.ts'
import { listKept, type KeptPlace, type KeptStep, type TapeTier } from './kept.ts'
import { removeQuarantined } from './quarantine.ts'
import { createReader } from './reader.ts'
import { makePacks, type MadePack } from './packs/make-packs.ts'
import { planPacks, type PackGroup, type PackPlan } from './packs/plan-packs.ts'
import { replaceByPack } from './packs/replace-by-pack.ts'
import { isListed, makeKept, recount } from './recount.ts'
import { removeOlder, removeStep, type RemovalOrder, type RemovalStep } from './retention.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { forgetSealed, readSealed, type SealedStep } from './sealed-queue.ts'
import { erasePlace, Outbox, readPlace, refuseCopy } from './shared/outbox.ts'
import { Verifier } from './verify.ts'
import { scrubInstrument, scrubStep, type ScrubPlace, type ScrubStep } from './scrub.ts'
import { changeState, readState, STATE, writeState } from './state.ts'
import { View, type ViewOptions } from './view.ts'
import { openWriterLock } from './writer-lock.ts'
import { Writer, WRITER_STREAMS, type SealLimits } from './writer.ts'

export type { ColdCounts } from './cold/cold-places.ts'
export type { MoveReport } from './cold/move.ts'
export type { MadePack } from './packs/make-packs.ts'
export type { PackGroup, PackPlan } from './packs/plan-packs.ts'
export { KEPT_START, type KeptPlace, type TapeTier } from './kept.ts'
export { SCRUB_START, type ScrubPlace } from './scrub.ts'
export type { SealedChunk } from './sealed-queue.ts'

/** How to open the embedded store. */
export type EmbeddedOptions = {
  /** The database file, `tape.db` in a data folder. */
  readonly file: string
  readonly readOnly?: boolean
  /** True for a short reading, during which a tape on a read-only mount does not change. */
  readonly mayBeFixed?: boolean
  readonly platform?: TapePlatform
  readonly limits?: Partial<SealLimits>
  /** Called while a tape of an older version is brought to this one, which takes minutes for a large tape. */
  readonly onUpgrade?: Progress
  /** Called when reading met a damaged chunk of an instrument's book. */
  readonly onDamage?: ((ref: InstrumentRef) => void) | undefined
  /** Max bytes on this disk of chunks that are in other storage. */
  readonly coldCacheBytes?: number | undefined
  /** True for the writer of a shared tape: its commits are kept until they are sent. */
  readonly isShared?: boolean
} & Omit<ViewOptions, 'cold'>

/** The embedded store, with the operations that only an engine in one file has. */
export type EmbeddedStore = Store & {
  /** The commits that were not sent, where the tape is shared. */
  readonly outbox: Outbox | undefined
  /** The number of who wrote a shared tape last; 0 where that is not known. */
  lastWriter(): Promise<number>
  /** Notes who writes a shared tape from now on. */
  noteWriter(number: number): Promise<void>
  /** The damage that opening cut off the log; undefined when there was none. */
  readonly repaired: string | undefined
  /** Replaces streams that came out different in a rebuilt tape; see `adopt.ts`. */
  adopt(rebuiltFile: string, knownFrom: number): Promise<string[]>
  /** Lists what the next chunks, quarantined messages or markets take, a bounded step at a time. */
  listKept(tier: TapeTier, after: KeptPlace): Promise<KeptStep>
  /** Adds up what the next chunks take, a bounded step at a time. */
  surveyBytes(after: KeptPlace): Promise<ByteSurveyStep>
  /** Removes what is older than a time, a bounded step at a time. */
  removeSome(what: TapeTier | 'revisions', order: RemovalOrder): Promise<RemovalStep>
  /** Checks the next chunks, a bounded step at a time, and stores gaps for damaged ones. */
  scrub(after: ScrubPlace): Promise<ScrubStep>
  /** Does so for one instrument; returns the names of its damaged chunks. */
  scrubInstrument(ref: InstrumentRef): Promise<readonly string[]>
  /** Packs the log after the next appends if it holds rows from before a time. */
  packBefore(time: number): Promise<void>
  /** The last journal record whose rows are all in chunks: a damaged log is derived again from there. */
  packedPosition(venue: VenueId): Promise<number>
  /** The chunks that were sealed first among those not forgotten, a bounded step at a time. */
  readSealed(): Promise<SealedStep | undefined>
  /** Moves chunks to other storage. */
  moveCold(order: MoveOrder): Promise<MoveReport>
  /** How many bytes of chunks from before a time are in the database. */
  movableBytes(before: number): Promise<number>
  /** The addresses of other storage that this tape needs. */
  coldAddresses(): Promise<readonly string[]>
  /** What is in other storage, at one address or all. */
  coldCounts(address?: string): Promise<ColdCounts>
  /** The number of this tape, by which it knows what it moved; a copy draws its own. */
  owner(): Promise<number>
  /** Forgets that the chunks of a step were sealed. */
  forgetSealed(step: SealedStep): Promise<void>
  /** Finds chunks from before a time that may be packed, of some streams behind a number. */
  planPacks(before: number, after: number): Promise<PackPlan>
  /** Makes all lists and sums again from the rows. */
  recount(progress?: Progress): Promise<void>
  /** Packs such chunks, and compares what can be read from the packs with them; for readers, too. */
  makePacks(group: PackGroup): Promise<readonly MadePack[]>
  /** Puts a pack in the place of its chunks; false where they changed since, or the pack does not give them. */
  replaceByPack(made: MadePack): Promise<boolean>
}

/** Opens (and creates, unless read-only) the store in one SQLite file. */
export function openEmbeddedStore(options: EmbeddedOptions): EmbeddedStore {
  const { file, readOnly = false, platform = createNodePlatform() } = options
  if (readOnly && !existsSync(file)) {
    throw new PriorbookError(
      'store_unavailable',
      `${file} does not exist: nothing was recorded here`,
    )
  }
  let lock: { close(): void } | undefined
  if (!readOnly) {
    ensureFolder(dirname(file))
    for (const own of [file, `${file}.lock`]) ensureWritable(own)
    lock = openWriterLock(`${file}.lock`)
  }
  try {
    if (readOnly) upgrade(file, platform, options.onUpgrade)
    const database = new Database(file, readOnly, options.mayBeFixed, options.onUpgrade)
    const outbox = options.isShared === true ? new Outbox(database) : undefined
    if (!readOnly && outbox === undefined) refuseCopy(database)
    const cold = createColdSource(file, options.coldCacheBytes)
    const streams = options.streams ?? (readOnly ? undefined : WRITER_STREAMS)
    const view = new View(database, platform, { ...options, cold, streams })
    const { onDamage } = options
    view.onDamage = onDamage && (({ venue, key }) => onDamage({ venue, key }))
    database.read(() => view.refresh())
    // Cutting it off would remove rows from every copy; this machine fetches them again.
    if (outbox !== undefined && view.damagedLog !== undefined) {
      database.close()
      throw view.damagedLog.error
    }
    if (database.isOverlaid) makeKept(view, options.onUpgrade)
    const writer = readOnly
      ? undefined
      : new Writer(view, platform, options.limits, options.onUpgrade)
    return createStore(new Session(view, writer), platform, outbox, () => lock?.close())
  } catch (error) {
    lock?.close()
    throw error
  }
}

// A tape of an earlier version is brought to this one first, where nothing else writes it. What a process
// that was killed left unfinished is finished.
function upgrade(file: string, platform: TapePlatform, progress?: Progress): void {
  const version = Database.versionOf(file)
  if (version === 0 || version > SCHEMA_VERSION) return
  if (version === SCHEMA_VERSION && Database.inspect(file, isSettled) !== false) return
  let lock: { close(): void }
  try {
    for (const own of [file, `${file}.lock`]) ensureWritable(own)
    lock = openWriterLock(`${file}.lock`)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    // A writer finishes it; on a read-only mount the reader completes it in memory.
    if (version === SCHEMA_VERSION || error.code === 'store_read_only') return
    throw error
  }
  try {
    const database = new Database(file, false, false, progress)
    try {
      const view = new View(database, platform)
      database.read(() => view.refresh())
      makeKept(view, progress)
    } finally {
      database.close()
    }
  } finally {
    lock.close()
  }
}

// Nothing to finish. A copy of a shared tape gets its lists from there, and would not fit it with its own.
function isSettled(database: Database): boolean {
  return isListed(database) || readPlace(database) !== undefined
}

/** Keeps others from writing a tape until it is closed; rejects with `store_locked` where another does. */
export function lockTape(file: string): { close(): void } {
  return openWriterLock(`${file}.lock`)
}

/** The code that opening a tape for writing would fail with now; undefined when it would succeed. */
export function probeWriter(file: string): ErrorCode | undefined {
  try {
    openWriterLock(`${file}.lock`).close()
    return undefined
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return error.code
  }
}

function createStore(
  session: Session,
  platform: TapePlatform,
  outbox: Outbox | undefined,
  unlock: () => void,
): EmbeddedStore {
  const { database, view, writer } = session
  const queue = new AppendQueue(session)
  return {
    ...createReader(session),
    outbox,
    lastWriter: () => session.read(() => readState(database, STATE.writer)),
    noteWriter: (number) =>
      session.write(() => database.write(() => writeState(database, STATE.writer, number))),
    append: (batch) => queue.append(batch),

    seal: () => session.write((own) => own.sealAll()),
    verify: async (progress) => {
      const report = await session.read(() => new Verifier(view, platform).run(progress))
      const cold = await checkCold(session, platform, progress)
      return { ...report, problems: [...report.problems, ...cold] }
    },
    moveCold: (order) => moveCold(session, platform, order),
    movableBytes: (before) => session.read(() => movableBytes(database, before)),
    coldAddresses: () => session.read(() => listAddresses(database)),
    coldCounts: (address) => session.read(() => countCold(database, address)),
    owner: () => session.write(() => database.write(() => ownerOf(database))),
    retain: (before) => session.write(() => removeOlder(view, before)),
    // VACUUM INTO copies one moment while others write; the copy is complete or absent.
    backup: async (file) => {
      await session.read(() => undefined)
      database.run('VACUUM INTO ?', file)
      forgetOwner(file)
    },
    adopt: (rebuiltFile, knownFrom) =>
      session.write((own) => {
        own.sealAll()
        return adoptStreams(view, rebuiltFile, platform, knownFrom)
      }),
    surveyBytes: (after) => session.read(() => surveyBytes(database, after)),
    listKept: (tier, after) => session.read(() => listKept(database, tier, after)),
    removeSome: (what, order) =>
      order.isDryRun === true
        ? session.read(() => removeSome(session, what, order))
        : session.write(() => removeSome(session, what, order)),
    scrub: (after) => session.write(() => scrubStep(view, after)),
    scrubInstrument: (ref) => session.writeAgain(() => scrubInstrument(view, ref)),
    packBefore: (time) => session.write((own) => own.packBefore(time)),
    packedPosition: (venue) => session.read(() => readState(database, STATE.packed(venue))),
    readSealed: () => session.read(() => readSealed(database, platform)),
    forgetSealed: (step) => session.write(() => forgetSealed(database, step)),
    recount: (progress) => session.write(() => recount(view, progress)),
    planPacks: (before, after) => session.read(() => planPacks(view, before, after)),
    makePacks: (group) => session.read(() => makePacks(view, platform, group)),
    replaceByPack: (made) => session.write(() => replaceByPack(view, platform, made)),
    get repaired() {
      return writer?.repaired
    },
    async close() {
      if (session.close(() => queue.flush())) unlock()
    },
  }
}

function removeSome(
  { database, view, writer }: Session,
  what: TapeTier | 'revisions',
  order: RemovalOrder,
): RemovalStep {
  switch (what) {
    case 'tape':
      return removeStep(view, order)
    case 'quarantine':
      return removeQuarantined(database, order)
    case 'revisions':
      return removeRevisions(database, order)
    case 'markets':
      return writer?.removeMarkets(order) ?? removeMarkets(view, order, Infinity)
  }
}

// A copy must not remove segments that the tape it was made of wrote and may need.
function forgetOwner(file: string): void {
  const copy = new Database(file, false)
  try {
    copy.write(() => {
      changeState(copy, STATE.owner, null)
      // A backup of a copy is a tape of its own.
      if (readPlace(copy) !== undefined) erasePlace(copy)
    })
  } finally {
    copy.close()
  }
}

// SQLite silently opens a file read-only when it may not write it.
function ensureWritable(file: string): void {
  if (!existsSync(file)) return
  try {
    accessSync(file, constants.W_OK)
  } catch (cause) {
    throw new PriorbookError('store_read_only', `${file} cannot be written`, { cause })
  }
}

function ensureFolder(folder: string): void {
  try {
    makeFolder(folder)
  } catch (cause) {
    throw new PriorbookError('store_read_only', `${folder} cannot be created`, { cause })
  }
}
