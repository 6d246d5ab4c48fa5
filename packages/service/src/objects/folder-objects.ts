import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, type Stats } from 'node:fs'
import { link, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'
import {
  checkName,
  checkPrefix,
  checkRange,
  compareNames,
  isName,
  TEMPORARY_PREFIX,
} from './object-name.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { makeFolder } from '../lib/make-folder.ts'

// A temporary file that was not written to for so long belongs to a process that is gone.
const LEFTOVER_MS = 3_600_000
// The most that one read call takes is 2 GiB.
const MAX_PIECE = 1 << 30

/**
 * Opens a folder as an object store. A new one is created where it is missing; a used one that is missing or
 * empty is refused, because its disk may not be mounted.
 */
export function openFolderObjects(folder: string, isNew = true): ObjectStore {
  const root = resolve(folder)
  if (isNew) createRoot(root)
  const isReady = createReadiness()
  const write = async (name: string, bytes: Uint8Array, place: Place): Promise<boolean> => {
    checkName(name)
    return inFolder(root, async () => {
      await stat(root)
      if (!isNew) await refuseEmpty(root)
      const path = join(root, name)
      const parent = dirname(path)
      const created = await mkdir(parent, { recursive: true })
      if (created !== undefined || !isReady(parent)) {
        for (let at = parent; at !== root; at = dirname(at)) await syncFolder(dirname(at))
        await removeLeftovers(parent)
      }
      return writeBeside(path, bytes, place)
    })
  }
  return {
    address: root,
    // Programs that read it take the path as it is, without percent signs for special characters.
    location: `file://${root === '/' ? '' : root}`,
    put: (name, bytes) => write(name, bytes, placeNew),
    async replace(name, bytes) {
      await write(name, bytes, placeInstead)
    },
    async read(name, start, length) {
      checkName(name)
      checkRange(start, length)
      return inFolder(root, () => readRange(root, name, start, length, isNew))
    },
    async size(name) {
      checkName(name)
      return inFolder(root, async () => (await statObject(root, name))?.size)
    },
    async remove(name) {
      checkName(name)
      return inFolder(root, async () => {
        if ((await statObject(root, name)) === undefined) return
        const path = join(root, name)
        await orAbsent(unlink(path))
        await syncFolder(dirname(path))
      })
    },
    async *list(prefix) {
      checkPrefix(prefix)
      await inFolder(root, () => stat(root))
      yield* walk(root, prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix)
    },
  }
}

function createRoot(root: string): void {
  try {
    const created = makeFolder(root)
    if (created === undefined || process.platform === 'win32') return
    for (let at = root; at.length >= created.length; at = dirname(at)) {
      const above = openSync(dirname(at), 'r')
      fsyncSync(above)
      closeSync(above)
    }
  } catch (error) {
    const { message } = error as Error
    const detail = `the folder ${root} cannot be created: ${message}`
    throw new PriorbookError('objects_refused', detail, { cause: error })
  }
}

/** True for a folder that was asked for before, within the time after which leftovers are looked for. */
function createReadiness(): (folder: string) => boolean {
  const ready = new Set<string>()
  let since = performance.now()
  return (folder) => {
    if (performance.now() - since > LEFTOVER_MS) {
      ready.clear()
      since = performance.now()
    }
    const isKnown = ready.has(folder)
    ready.add(folder)
    return isKnown
  }
}

/** Gives a complete temporary file its name; false where another file keeps the name. */
type Place = (temporary: string, path: string) => Promise<boolean>

// Unlike a rename, a link never replaces.
const placeNew: Place = (temporary, path) =>
  link(temporary, path).then(() => true, falseForExisting)

const placeInstead: Place = async (temporary, path) => {
  // Windows lets a file be renamed to the name of an empty folder.
  if ((await orAbsent(stat(path)))?.isDirectory() === true) return false
  await rename(temporary, path)
  return true
}

async function writeBeside(path: string, bytes: Uint8Array, place: Place): Promise<boolean> {
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${randomUUID()}`)
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    const isNew = await place(temporary, path)
    if (!isNew && !(await stat(path)).isFile()) {
      throw new PriorbookError('objects_refused', `${path} is a folder; an object needs the name`)
    }
    // Also where another process wrote it, which may not have come so far.
    await syncFolder(dirname(path))
    return isNew
  } finally {
    await unlink(temporary).catch(() => {})
  }
}

async function readRange(
  root: string,
  name: string,
  start: number,
  length: number,
  mayBeEmpty: boolean,
): Promise<Uint8Array> {
  const found = await statObject(root, name)
  const file = found && (await orAbsent(open(join(root, name), 'r')))
  if (file === undefined) {
    if (!mayBeEmpty) await refuseEmpty(root)
    throw new PriorbookError('object_missing', `${root} has no object ${name}`)
  }
  try {
    const { size } = await file.stat()
    if (size >= start + length) {
      const bytes = Buffer.allocUnsafeSlow(length)
      let done = 0
      let last = 1
      for (; done < length && last > 0; done += last) {
        const piece = Math.min(length - done, MAX_PIECE)
        last = (await file.read(bytes, done, piece, start + done)).bytesRead
      }
      if (done === length) return bytes
    }
    const wanted = `${length} bytes from ${start} on`
    throw new PriorbookError(
      'object_damaged',
      `${name} of ${root} has ${size} bytes, not ${wanted}`,
    )
  } finally {
    await file.close()
  }
}

async function refuseEmpty(root: string): Promise<void> {
  if ((await readdir(root)).length > 0) return
  const detail = `the object folder ${root} is empty: mount its disk, or bring the objects back`
  throw new PriorbookError('objects_refused', detail)
}

/** The objects below a folder, in the order of their whole names, in which a slash counts. */
async function* walk(
  root: string,
  parent: string,
  prefix: string,
): AsyncGenerator<StoredObject, void, void> {
  const entries = await inFolder(root, () =>
    orAbsent(readdir(join(root, parent), { withFileTypes: true })),
  )
  const names = (entries ?? [])
    // Leaves out temporary files, and files of other programs whose names no object can have.
    .filter((entry) => isName(parent + entry.name))
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((name) => name.startsWith(prefix))
    .sort(compareNames)
  for (const name of names) {
    if (name.endsWith('/')) yield* walk(root, name, prefix)
    else {
      // Gone again where another process removed it.
      const found = await inFolder(root, () => statObject(root, name))
      if (found !== undefined) yield { name, size: found.size }
    }
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(TEMPORARY_PREFIX)) continue
    const path = join(folder, name)
    const found = await orAbsent(stat(path))
    if (found && Date.now() - found.mtimeMs > LEFTOVER_MS) await orAbsent(unlink(path))
  }
}

async function statObject(root: string, name: string): Promise<Stats | undefined> {
  const found = await orAbsent(stat(join(root, name)))
  if (found === undefined) await stat(root)
  return found?.isFile() === true ? found : undefined
}

/** Makes created, linked or removed names of a folder durable. */
async function syncFolder(path: string): Promise<void> {
  // Windows cannot open folders; its file system journals names by itself.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Undefined instead of an error where the path names nothing. */
async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

function falseForExisting(error: NodeJS.ErrnoException): false {
  if (error.code === 'EEXIST') return false
  throw error
}

// What the operator has to change; everything else may pass by itself.
const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'there is no space left; make room or name another folder',
  EDQUOT: 'the quota is used up; raise it or name another folder',
  EFBIG: 'the file would be larger than the limit; raise it',
  EACCES: 'this user may not use it; change its rights',
  EPERM: 'this user may not use it; change its rights',
  EROFS: 'it is read-only; mount it for writing',
  ENOENT: 'the folder is gone; mount or create it',
  EEXIST: 'a file stands where a folder is needed; move it away',
  ENOTDIR: 'a file stands where a folder is needed; move it away',
}

async function inFolder<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PriorbookError) throw error
    const { code: errno = '', message } = error as NodeJS.ErrnoException
    const refusal = REFUSALS[errno]
    const code: ErrorCode = refusal === undefined ? 'objects_unavailable' : 'objects_refused'
    const detail = `the object folder ${root} fails: ${refusal ?? 'try again'} (${message})`
    throw new PriorbookError(code, detail, { cause: error })
  }
}
