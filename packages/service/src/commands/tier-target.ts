import { randomUUID } from 'node:crypto'
import { existsSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { printBytes } from '@priorbook/sdk/command-line'
import { PriorbookError } from '@priorbook/sdk/domain'
import { makeFolder } from '../lib/make-folder.ts'

/**
 * Throws `objects_refused` unless a folder can take so many bytes of a data folder: it is neither that folder nor inside
 * or above it, can be written and has the space. One that has data of this tape already is not created again.
 */
export function checkTierTarget(
  target: string,
  dataFolder: string,
  bytes: number,
  isUsed = false,
): void {
  if (isUsed && !existsSync(target)) refuse(`${target} is not there: mount its disk`)
  const root = realPathOf(target)
  const own = realPathOf(dataFolder)
  if (isInside(root, own) || isInside(own, root)) {
    refuse(`${target} is the data folder, or inside or above it: name a folder of another disk`)
  }
  probe(root)
  const { bavail, bsize } = statfsSync(root)
  const free = bavail * bsize
  if (free < bytes) {
    refuse(`${target} has ${printBytes(free)} free, and ${printBytes(bytes)} would go there`)
  }
}

// The path without links; of a folder that does not exist yet, below the nearest one that does.
function realPathOf(path: string): string {
  const whole = resolve(path)
  if (existsSync(whole)) return realpathSync(whole)
  const above = dirname(whole)
  return above === whole ? whole : join(realPathOf(above), relative(above, whole))
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

function probe(root: string): void {
  const file = join(root, `.priorbook-${randomUUID()}`)
  try {
    makeFolder(root)
    writeFileSync(file, 'probe')
    rmSync(file)
  } catch (error) {
    refuse(`${root} cannot be written: ${(error as Error).message}`)
  }
}

function refuse(detail: string): never {
  throw new PriorbookError('objects_refused', detail)
}
