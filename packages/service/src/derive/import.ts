import { createHash } from 'node:crypto'
import { PriorbookError, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { openJournalWriter, readJournal, type JournalWriter } from '../journal/index.ts'
import type { StoreAdmin, StoreWriter } from '../store/store.ts'
import { Applier, type ApplyCounts } from '../recorder/applier.ts'
import { catchUp } from '../recorder/catch-up.ts'
import {
  hashFile,
  mergeRecordings,
  parseLine,
  type RecordedLine,
  type RecordingFile,
} from './merge-recordings.ts'
import { toPastBatch } from './past-batch.ts'
import { toNoteBytes, type Note } from '../recorder/notes.ts'
import type { RecordingImporter } from '../venues/capture/definition.ts'
import { definitionOf, IMPORT_VENUES } from '../venues/registry.ts'

/** How to import recordings. */
export type ImportOptions = {
  readonly store: StoreWriter & Pick<StoreAdmin, 'seal'>
  readonly journalDir: string
  /** The venue of the recordings; by default the first one that has a recording format. */
  readonly venue?: VenueId
  readonly files: readonly RecordingFile[]
  readonly onProgress?: (done: number, total: number, lines: number) => void
}

/** The result of an import. */
export type ImportReport = ApplyCounts & {
  readonly lines: number
  readonly skippedLines: number
  /** Files that were imported before, byte for byte. */
  readonly known: readonly string[]
  /** JSON files that are not a recorded answer. */
  readonly foreign: readonly string[]
  /** Everything that needs attention: broken lines, rejected messages, truncated files, late data. */
  readonly problems: readonly ImportProblem[]
}

/** One item that could not be imported. */
type ImportProblem = {
  readonly where: string
  readonly code: string
  readonly detail: string
}

const RECORDER = 'import'
// One journal commit and one append for this many lines: two syncs for 1.2 MB of text.
const BATCH_LINES = 4096
const MAX_PROBLEMS = 1000

/** Imports recordings of a venue: raw lines into the journal first, then rows into the store. */
export async function importRecordings(options: ImportOptions): Promise<ImportReport> {
  const { store, journalDir: dir, venue = IMPORT_VENUES[0]! } = options
  const { importer } = definitionOf(venue)
  if (importer === undefined) {
    throw new PriorbookError('invalid_argument', `${venue} has no recording format`)
  }
  await catchUp(store, dir, venue)
  const acknowledged = await store.appliedPosition(venue)
  const maker = { origin: 'import', recorder: RECORDER } as const
  const writer = openJournalWriter({ dir, venue, ...maker, acknowledged })
  try {
    const run = new ImportRun(options, venue, importer, writer)
    return await run.run()
  } finally {
    writer.close()
  }
}

class ImportRun {
  private readonly options: ImportOptions
  private readonly venue: VenueId
  private readonly importer: RecordingImporter
  private readonly writer: JournalWriter
  private readonly applier: Applier
  private readonly known: string[] = []
  private readonly foreign: string[] = []
  private readonly problems: ImportProblem[] = []
  private readonly read = new Map<RecordingFile, number>()
  private readonly stored = new Map<string, number>()
  private pending = 0
  /** The received time of the newest line. */
  private newest = 0 as Micros
  private readonly places = new LinePlaces()
  private earlier: Set<string> | undefined
  private lines = 0
  private skipped = 0

  constructor(
    options: ImportOptions,
    venue: VenueId,
    importer: RecordingImporter,
    writer: JournalWriter,
  ) {
    this.options = options
    this.venue = venue
    this.importer = importer
    this.writer = writer
    this.applier = new Applier(options.store, venue)
  }

  async run(): Promise<ImportReport> {
    const hashes = new Map<RecordingFile, string>()
    for (const file of this.options.files) {
      const sha256 = await hashFile(file.path)
      if ((await this.options.store.fact(`imported:${sha256}`)) !== undefined) {
        this.known.push(file.path)
      } else hashes.set(file, sha256)
    }
    const files = [...hashes.keys()]
    const cut = new Set<RecordingFile>()
    const lineCounts = new Map<RecordingFile, number>()
    const onBytes = (file: RecordingFile, readSoFar: number): void => {
      this.read.set(file, readSoFar)
    }
    const merged = mergeRecordings(files, onBytes, ({ file, error }) => {
      cut.add(file)
      this.problem(file.path, error.code, error.message)
    })
    for await (const group of merged) {
      for (const line of group) {
        lineCounts.set(line.file, line.line)
        const wait = this.accept(line)
        if (wait !== undefined) await wait
        if (this.pending >= BATCH_LINES) await this.flush()
      }
    }
    for (const [file, sha256] of hashes) {
      // A truncated file may be imported again when complete, so it is not recorded as imported.
      if (cut.has(file) || this.foreign.includes(file.path)) continue
      const lines = lineCounts.get(file) ?? 0
      await this.note({ note: 'file_imported', sha256, lines }, this.newest)
    }
    await this.flush()
    await this.options.store.seal()
    const { known, foreign, problems, lines, skipped: skippedLines } = this
    return { ...this.applier.counts, lines, skippedLines, known, foreign, problems }
  }

  // Nearly every line is handled synchronously; a promise is returned only for store or journal reads.
  private accept(line: RecordedLine): Promise<void> | undefined {
    this.lines++
    const message = this.parse(line)
    if (typeof message === 'string') return this.acceptBroken(line, message)
    const key = this.importer.keyOf(message)
    const last = key === undefined ? 0 : this.stored.get(key)
    if (last === undefined) {
      this.lines--
      return this.lookUp(key!).then(() => this.accept(line))
    }
    if (line.received <= last || line.file.form === 'answer') {
      return this.acceptUnlessKnown(line, message, line.received < last)
    }
    return this.journal(line, message)
  }

  private parse(line: RecordedLine): Record<string, unknown> | string {
    if (line.broken !== undefined) return line.broken
    try {
      return parseLine(line.bytes)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      return error.message
    }
  }

  private async acceptBroken(line: RecordedLine, reason: string): Promise<void> {
    if (line.file.form === 'answer') {
      this.lines--
      this.foreign.push(line.file.path)
      return
    }
    if (this.isEarlier(line.bytes)) {
      this.skipped++
      return
    }
    const note = { note: 'broken_line', reason: `${placeOf(line)}: ${reason}` } as const
    await this.note(note, line.received)
    await this.journal(line)
  }

  private async acceptUnlessKnown(
    line: RecordedLine,
    message: Record<string, unknown>,
    late: boolean,
  ): Promise<void> {
    if (this.isEarlier(line.bytes)) this.skipped++
    else if (!late) await this.journal(line, message)
    else {
      const detail = 'older than what is stored for its market; not imported'
      this.problem(placeOf(line), 'late_data', detail)
    }
  }

  private journal(line: RecordedLine, parsed?: Record<string, unknown>): Promise<void> | undefined {
    const { received, bytes } = line
    const number = this.writer.append(received, 'message', bytes)
    if (received > this.newest) this.newest = received
    this.places.add(number, line)
    this.pending++
    return this.applier.apply({ number, received, kind: 'message', slot: 0, bytes, parsed })
  }

  // Notes have the time of the lines around them: a time of 0 would say that nothing was received since 1970.
  private note(note: Note, received: Micros): Promise<void> | undefined {
    const bytes = toNoteBytes(note)
    const number = this.writer.append(received, 'note', bytes)
    this.pending++
    return this.applier.apply({ number, received, kind: 'note', slot: 0, bytes })
  }

  private async flush(): Promise<void> {
    // Raw lines must be durable before the rows derived from them.
    this.writer.commit()
    const batch = this.applier.drain({ origin: 'import', recorder: RECORDER })
    if (batch === undefined) return
    for (const { journal, code, detail } of batch.quarantine ?? []) {
      this.problem(this.places.find(journal) ?? `record ${journal}`, code, detail)
    }
    await this.options.store.append(toPastBatch(batch))
    this.applier.forgetEnded()
    this.pending = 0
    this.places.clear()
    let done = 0
    for (const bytes of this.read.values()) done += bytes
    const total = this.options.files.reduce((sum, file) => sum + file.bytes, 0)
    this.options.onProgress?.(done, total, this.lines)
  }

  // The newest received time stored for an instrument before this import began.
  private async lookUp(key: string): Promise<void> {
    const { store } = this.options
    const ref = { venue: this.venue, key }
    const facts = await store.instrument(ref)
    const trades = await store.trades({ ...ref, order: 'desc', limit: 1 })
    const lastTrade = trades.rows.received[trades.rows.count - 1] ?? 0
    this.stored.set(key, Math.max(facts?.lastReceived ?? 0, lastTrade))
  }

  // The lines already in the journal; loaded once, and only when a file overlaps stored data.
  private isEarlier(bytes: Uint8Array): boolean {
    if (this.earlier === undefined) {
      this.earlier = new Set()
      const to = this.writer.committed
      const { venue } = this
      for (const block of readJournal({ dir: this.options.journalDir, venue, to })) {
        if (block.kind === 'damage') continue
        for (const [index, kind] of block.kinds.entries()) {
          if (kind === 'message') this.earlier.add(lineName(block.bytes[index]!))
        }
      }
    }
    return this.earlier.has(lineName(bytes))
  }

  private problem(where: string, code: string, detail: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ where, code, detail })
  }
}

type LinePlace = Pick<RecordedLine, 'file' | 'line'>

function placeOf({ file, line }: LinePlace): string {
  return `${file.path}:${line}`
}

/**
 * The file positions of a batch's records. Kept as three arrays: keeping the line objects until the end
 * of a batch would make the garbage collector move them repeatedly.
 */
class LinePlaces {
  private readonly numbers: number[] = []
  private readonly files: RecordingFile[] = []
  private readonly lines: number[] = []

  add(number: number, { file, line }: LinePlace): void {
    this.numbers.push(number)
    this.files.push(file)
    this.lines.push(line)
  }

  find(number: number): string | undefined {
    const at = this.numbers.indexOf(number)
    return at === -1 ? undefined : placeOf({ file: this.files[at]!, line: this.lines[at]! })
  }

  clear(): void {
    this.numbers.length = 0
    this.files.length = 0
    this.lines.length = 0
  }
}

function lineName(bytes: Uint8Array): string {
  return createHash('sha1').update(bytes).digest('base64')
}
