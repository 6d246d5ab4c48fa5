import { createHash } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { ObjectStore } from '../../objects/object-store.ts'
import { putChecked } from '../../objects/put-checked.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { parseMetadata, type TableMetadata } from './table-metadata.ts'

// Readers of Hive partitions leave folders out that begin with an underscore. Inside it, names are those of a Hadoop
// catalogue: namespace, table, `metadata`.
const TABLES = '_iceberg/'
const HINT = 'version-hint.text'

/** The newest version of a table's metadata. */
export type StoredVersion = { readonly number: number; readonly metadata: TableMetadata }

/** The metadata folder of one table. Files are never changed, but for the hint, which names the newest version. */
export class TableFolder {
  /** Where the table is, as other programs write it. */
  readonly location: string
  readonly #objects: ObjectStore
  readonly #folder: string

  constructor(objects: ObjectStore, venue: string, dataset: string) {
    const table = `${TABLES}${venue}/${dataset}`
    this.#objects = objects
    this.#folder = `${table}/metadata/`
    this.location = `${objects.location}/${table}`
  }

  /** Where a file of the folder is, as other programs write it. */
  pathOf(file: string): string {
    return `${this.location}/metadata/${file}`
  }

  /** The newest version; undefined without a table. */
  async readNewest(): Promise<StoredVersion | undefined> {
    let number = 0
    for (const file of await this.list()) number = Math.max(number, versionOf(file) ?? 0)
    if (number === 0) return undefined
    const file = versionFile(number)
    return { number, metadata: parseMetadata(file, (await this.read(file)).toString()) }
  }

  /** Makes a version the newest one: all of its files are there. */
  async commit({ number, metadata }: StoredVersion): Promise<void> {
    const name = this.#folder + versionFile(number)
    const isOwn = await this.#objects.put(
      name,
      Buffer.from(`${JSON.stringify(metadata, null, 2)}\n`),
    )
    if (isOwn) return
    throw new PriorbookError('store_locked', `another process has written ${name} of the lake`)
  }

  /** Names the newest version to readers that cannot list the folder. */
  async setHint(number: number): Promise<void> {
    const name = this.#folder + HINT
    const hint = Buffer.from(String(number))
    const size = await this.#objects.size(name)
    if (size === hint.length && hint.equals(await this.#objects.read(name, 0, size))) return
    await this.#objects.replace(name, hint)
  }

  /** Keeps a file whose name follows from its bytes and the version that it is for. */
  async put(file: string, bytes: Buffer): Promise<void> {
    const hash = createHash('sha256').update(bytes).digest()
    const order = { isNeeded: async () => false, rest: yieldToEventLoop }
    await putChecked(this.#objects, this.#folder + file, bytes, hash, order)
  }

  async read(file: string): Promise<Buffer> {
    const name = this.#folder + file
    const size = await this.#objects.size(name)
    if (size === undefined) {
      const detail = `${this.#objects.address} has no object ${name}`
      throw new PriorbookError('object_missing', detail)
    }
    return Buffer.from(await this.#objects.read(name, 0, size))
  }

  /** Removes the files that no version needs any more. */
  async keepOnly(needed: ReadonlySet<string>, check: () => void): Promise<void> {
    for (const file of await this.list()) {
      if (file === HINT || needed.has(file)) continue
      check()
      await this.#objects.remove(this.#folder + file)
    }
  }

  private async list(): Promise<readonly string[]> {
    const files: string[] = []
    for await (const { name } of this.#objects.list(this.#folder)) {
      files.push(name.slice(this.#folder.length))
    }
    return files
  }
}

/** The file of a version, as readers of folders look for it. */
export function versionFile(number: number): string {
  return `v${number}.metadata.json`
}

function versionOf(file: string): number | undefined {
  const [, digits] = /^v(\d+)\.metadata\.json$/.exec(file) ?? []
  return digits === undefined ? undefined : Number(digits)
}
