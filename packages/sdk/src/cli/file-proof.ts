import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { GapJson } from '../wire/index.ts'
import type { FileFormat, ManifestFileJson, ManifestJson } from '../client/index.ts'
import { CliError } from './errors.ts'
import { readBeside } from './read-beside.ts'

/** The content of `FILE.manifest.json` beside a downloaded file. */
export type SavedManifest = {
  /** The request, so that a repeated one is recognized. */
  readonly request: Readonly<Record<string, unknown>>
  readonly url: string
  readonly manifest: ManifestJson
  readonly gaps: readonly GapJson[]
}

/** Where the manifest of a file is. */
export function manifestPath(path: string): string {
  return `${path}.manifest.json`
}

/** Reads a saved manifest; undefined where there is none. */
export async function readSavedManifest(path: string): Promise<SavedManifest | undefined> {
  const text = await readBeside(path)
  if (text === undefined) return undefined
  try {
    const saved = JSON.parse(text) as SavedManifest
    if (Array.isArray(saved.manifest.files)) return saved
  } catch {
    // Falls through to the error below.
  }
  throw new CliError('incomplete', `${path} is not a manifest`, 'Download the file again.')
}

/** The facts of one file of a manifest. */
export function fileIn(manifest: ManifestJson, format: FileFormat): ManifestFileJson {
  const file = manifest.files.find((one) => one.format === format)
  if (file === undefined) {
    throw new CliError('incomplete', `the manifest does not know a file of the format ${format}`)
  }
  return file
}

/** The SHA-256 and the length of a file. */
export async function hashFile(
  path: string,
  signal?: AbortSignal,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  const stream = createReadStream(path, { highWaterMark: 1 << 20, ...(signal && { signal }) })
  for await (const piece of stream) {
    hash.update(piece as Buffer)
    bytes += (piece as Buffer).length
  }
  return { sha256: hash.digest('hex'), bytes }
}
