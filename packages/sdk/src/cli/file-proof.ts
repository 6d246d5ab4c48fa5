import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { GapJson } from '../wire/index.ts'
import {
  PriorbookClientError,
  type FileFormat,
  type ManifestFileJson,
  type ManifestJson,
} from '../client/index.ts'
import { showValue } from '../domain/index.ts'
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

/**
 * The name that a server gives a file. It becomes a path here, so one that leads out of its folder, or that a terminal
 * or a system reads in its own way, is refused.
 */
export function fileNameIn(manifest: ManifestJson, format: FileFormat): string {
  const { file_name: name } = fileIn(manifest, format)
  if (typeof name === 'string' && !NO_NAMES.has(name) && !NOT_IN_NAMES.test(name)) return name
  throw new PriorbookClientError(
    'bad_answer',
    `the server names the file ${showValue(name)}, which is not the name of a file; nothing was written`,
  )
}

const NO_NAMES = new Set(['', '.', '..'])
const NOT_IN_NAMES = /[/\\:\p{Cc}]/u

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
