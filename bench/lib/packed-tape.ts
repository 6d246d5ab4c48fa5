import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isPack, openChunk, Pack } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { packTape } from '../../packages/service/src/retention/tape-packer.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'

/** Copies a tape, packs all chunks of the copy, and gives the file without free space. */
export async function packCopy(file: string, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const copied = join(folder, 'copied.db')
  const source = openEmbeddedStore({ file, readOnly: true })
  await source.backup(copied)
  await source.close()
  const store = openEmbeddedStore({ file: copied })
  const before = Number.MAX_SAFE_INTEGER
  const began = process.cpuUsage()
  const { rows, packs } = await packTape(store, (made) => store.replaceByPack(made), { before })
  const { user, system } = process.cpuUsage(began)
  const speed = Math.round(rows / ((user + system) / 1e6))
  console.log(`packed ${rows} rows in ${packs} packs, ${speed} rows per second of one core`)
  const vacuumed = join(folder, 'vacuumed.db')
  await store.backup(vacuumed)
  await store.close()
  return vacuumed
}

const COLUMNS =
  'frame,time,source bits,received,received bits,numbers,number bits,journal,journal bits,keyframe,counts,keys low,keys middle,keys high,size tokens,size values'.split(
    ',',
  )

/** Prints what each column of the books takes, in chunks and in packs, in bytes per observation. */
export function printColumns(file: string, packed: string, observations: number): void {
  const [one, other] = [bytesOf(file), bytesOf(packed)]
  const names = [...new Set([...one.keys(), ...other.keys()])]
  console.log(`${'bytes per observation'.padEnd(28)}  chunks   packs`)
  for (const name of names) {
    const [a, b] = [one, other].map((sums) => ((sums.get(name) ?? 0) / observations).toFixed(3))
    console.log(`${name.padEnd(28)} ${a!.padStart(7)} ${b!.padStart(7)}`)
  }
}

function bytesOf(file: string): Map<string, number> {
  const platform = createNodePlatform()
  const sums = new Map<string, number>()
  const add = (name: string, bytes: number): void =>
    void sums.set(name, (sums.get(name) ?? 0) + bytes)
  const database = new DatabaseSync(file, { readOnly: true })
  let stored = 0
  for (const { bytes } of database.prepare('SELECT bytes FROM body').iterate() as Iterable<{
    bytes: Uint8Array
  }>) {
    stored += bytes.length
    const pack = isPack(bytes) ? new Pack(bytes, platform) : undefined
    const chunk = pack?.chunkAt(0) ?? openChunk(bytes, platform)
    if (chunk.header.kind !== 'book') {
      add(`all of a ${chunk.header.kind}`, bytes.length)
      continue
    }
    const columns = pack?.columnBytes() ?? chunk.sections.map((section) => section.stored.length)
    for (const [at, length] of columns.entries()) add(COLUMNS[at]!, length)
    add('headers, lengths, sums', bytes.length - columns.reduce((sum, length) => sum + length, 0))
  }
  database.close()
  add('database, records, lists', statSync(file).size - stored)
  return sums
}
