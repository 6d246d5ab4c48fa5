import { unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { listSegments, parseAway, type AwayFile } from '@priorbook/sdk/journal/format'
import { isLost, type ObjectStore } from '../objects/object-store.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { listNotes, listUnwanted, writeAwayNote } from './away-notes.ts'
import { NOTE_ENDING, prefixOf } from './move-away.ts'
import { newestOrigin } from './origin.ts'
import { newestIndex } from './retention.ts'

/** What a look into a storage brought. */
export type FoundFiles = {
  /** Files that were not known here. */
  found: number
  /** Notes that were found earlier, and whose files are not wanted any more. */
  dropped: number
  /** Files whose numbers this folder has itself, of another origin, or with a damaged note. */
  skipped: number
}

const NOTE = /^(\d{16})-[0-9a-f]{24}\.pbj\.away$/

/**
 * Makes the files of journals in a storage readable from a folder that does not know of them: of a machine that is
 * gone, or of the recorders of a shared tape. What the folder has itself always counts.
 */
export async function findAway(dir: string, objects: ObjectStore): Promise<FoundFiles> {
  const report: FoundFiles = { found: 0, dropped: 0, skipped: 0 }
  for (const venue of VENUE_IDS) await findVenue(dir, venue, objects, report)
  return report
}

async function findVenue(
  dir: string,
  venue: VenueId,
  objects: ObjectStore,
  report: FoundFiles,
): Promise<void> {
  const prefix = prefixOf(venue)
  const there = new Set<string>()
  const own = ownFiles(dir, venue)
  for await (const { name, size } of objects.list(prefix)) {
    const first = NOTE.exec(name.slice(prefix.length))?.[1]
    if (first === undefined) continue
    const object = name.slice(0, -NOTE_ENDING.length)
    there.add(object)
    if (own.objects.has(object)) continue
    const file = await readNote(objects, name, size)
    if (file === undefined || file.name !== object || !own.mayAdd(Number(first), file)) {
      report.skipped++
      continue
    }
    const path = join(dir, venue, `${first}.away`)
    makeFolder(dirname(path), 0o700)
    writeAwayNote(path, { ...file, address: objects.address, isFound: true })
    own.objects.add(object)
    report.found++
  }
  for (const { path, file } of listNotes(dir, venue)) {
    const isGone = file?.isFound === true && file.address === objects.address
    if (!isGone || there.has(file.name)) continue
    unlinkSync(path)
    report.dropped++
  }
}

async function readNote(
  objects: ObjectStore,
  name: string,
  size: number,
): Promise<AwayFile | undefined> {
  try {
    return parseAway(Buffer.from(await objects.read(name, 0, size)).toString('utf8'))
  } catch (error) {
    if (isLost(error)) return undefined
    throw error
  }
}

/** What a folder has of a journal, and whether a file of the storage may be added to it. */
function ownFiles(
  dir: string,
  venue: VenueId,
): {
  readonly objects: Set<string>
  readonly mayAdd: (first: number, file: AwayFile) => boolean
} {
  const names = listSegments(dir, venue)
  const growing = names[newestIndex(names)]
  const local = names.flatMap(({ first, isAway }, index) => {
    if (isAway) return []
    const next = first === growing?.first ? Infinity : (names[index + 1]?.first ?? Infinity)
    return [{ first, last: next - 1 }]
  })
  const notes = listNotes(dir, venue)
  const moved = notes.flatMap(({ file }) =>
    file === undefined || file.isFound === true ? [] : [file.stats],
  )
  const unwanted = listUnwanted(dir, venue)
  const origin = newestOrigin(dir, venue)
  const known = [...notes, ...unwanted].flatMap(({ file }) =>
    file === undefined ? [] : [file.name],
  )
  return {
    objects: new Set(known),
    mayAdd: (first, { stats }) => {
      const last = stats.last ?? first
      const isOwn = [...local, ...moved].some(
        (own) => first <= (own.last ?? own.first) && own.first <= last,
      )
      const isOther =
        origin !== undefined && (origin === 'emulator') !== (stats.origin === 'emulator')
      return !isOwn && !isOther
    },
  }
}
