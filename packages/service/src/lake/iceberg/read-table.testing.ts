import { Readable } from 'node:stream'
import avro from 'avsc'

/** One snapshot of the metadata. */
export type TableSnapshot = {
  readonly 'snapshot-id': number
  readonly 'sequence-number': number
  readonly 'manifest-list': string
  readonly summary: Readonly<Record<string, string>>
}

type Metadata = {
  readonly location: string
  readonly 'current-snapshot-id': number
  readonly snapshots: readonly TableSnapshot[]
  readonly 'metadata-log': readonly { readonly 'metadata-file': string }[]
}
type Row = { readonly manifest_path: string; readonly manifest_length: number }
type Entry = {
  readonly status: number
  readonly data_file: {
    readonly file_path: string
    readonly record_count: number
    readonly file_size_in_bytes: number
  }
}

/** A table as a reader of folders sees it, by the decoder of avsc: from the hint to the files of the newest snapshot. */
export async function readTable(
  read: (name: string) => Uint8Array | Promise<Uint8Array>,
  venue: string,
  dataset: string,
) {
  const folder = `_iceberg/${venue}/${dataset}/metadata/`
  const text = async (file: string): Promise<string> =>
    Buffer.from(await read(folder + file)).toString()
  const version = await text('version-hint.text')
  const metadata = JSON.parse(await text(`v${version}.metadata.json`)) as Metadata
  const { location, snapshots } = metadata
  const rowsOf = async <T>(path: string): Promise<readonly T[]> => {
    if (!path.startsWith(`${location}/metadata/`)) throw new Error(`${path} is elsewhere`)
    const bytes = await read(folder + path.slice(path.lastIndexOf('/') + 1))
    return decode<T>(bytes)
  }
  const needed = new Set([
    `${location}/metadata/version-hint.text`,
    `${location}/metadata/v${version}.metadata.json`,
    ...metadata['metadata-log'].map((one) => one['metadata-file']),
  ])
  const files: { path: string; rows: number; bytes: number }[] = []
  for (const snapshot of snapshots) {
    needed.add(snapshot['manifest-list'])
    for (const { manifest_path: path } of await rowsOf<Row>(snapshot['manifest-list'])) {
      needed.add(path)
      const entries = await rowsOf<Entry>(path)
      if (snapshot['snapshot-id'] !== metadata['current-snapshot-id']) continue
      for (const { status, data_file: file } of entries) {
        if (status === 2) continue
        const { file_path, record_count: rows, file_size_in_bytes: bytes } = file
        files.push({ path: file_path, rows, bytes })
      }
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { location, snapshots, files, needed: [...needed].sort() }
}

async function decode<T>(bytes: Uint8Array): Promise<readonly T[]> {
  const decoder = new avro.streams.BlockDecoder()
  const rows: T[] = []
  for await (const row of Readable.from([Buffer.from(bytes)]).pipe(decoder)) rows.push(row as T)
  return rows
}
