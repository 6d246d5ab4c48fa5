import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { lockPart } from './part-lock.ts'

/**
 * Writes a file whose beginning is of no use: as `FILE.part`, which gets its name when it is whole. Until then a file
 * that is already there stays as it is. Gives the number of bytes.
 */
export async function saveWhole(
  path: string,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  // A device or a pipe, such as /dev/stdout, cannot be replaced: it takes the bytes as they come.
  if (!(await isReplaceable(path))) return fill(await open(path, 'w'), body)
  const part = `${path}.part`
  const lock = await lockPart(part, signal)
  try {
    const bytes = await fill(await open(part, 'w'), body, (file) => file.sync())
    await lock.check()
    await rename(part, path)
    return bytes
  } catch (error) {
    // Without the lock the part is that of another process.
    if (await lock.isHeld()) await rm(part, { force: true })
    throw error
  } finally {
    await lock.release()
  }
}

async function isReplaceable(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw error
  }
}

async function fill(
  file: FileHandle,
  body: AsyncIterable<Uint8Array>,
  finish?: (file: FileHandle) => Promise<void>,
): Promise<number> {
  let bytes = 0
  try {
    for await (const piece of body) {
      await file.writeFile(piece)
      bytes += piece.length
    }
    await finish?.(file)
  } finally {
    await file.close()
  }
  return bytes
}
