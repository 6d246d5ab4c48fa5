import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  fetchRecords,
  findAway,
  moveAway,
  readJournal,
} from '../../packages/service/src/journal/index.ts'
import {
  contentOf,
  createFolder,
  fill,
  openWriter,
} from '../../packages/service/src/journal/journal-folder.testing.ts'
import { openObjects } from '../../packages/service/src/objects/open-objects.ts'
import { openMoving } from '../../packages/service/src/store/embedded/cold/cold-store.testing.ts'
import { describeStoreContract } from '../../packages/service/src/store/store.contract.ts'
import { startSeaweedFs, type SeaweedFs } from './seaweedfs.ts'

const BUCKET = 'tape'
let server: SeaweedFs

beforeAll(async () => {
  server = await startSeaweedFs()
  await server.createBucket(BUCKET)
  process.env['AWS_ACCESS_KEY_ID'] = server.accessKeyId
  process.env['AWS_SECRET_ACCESS_KEY'] = server.secretAccessKey
})
afterAll(() => server?.stop())

// Everything that a store promises, with its chunks in a bucket of a real S3 server.
describeStoreContract('embedded, with chunks in a bucket', async () =>
  openMoving(`s3://${BUCKET}/${randomUUID()}?endpoint=${server.endpoint}`),
)

it('files of a journal are read from a bucket as from a disk, also by another machine', async () => {
  const dir = join(createFolder(), 'journal')
  const writer = openWriter(dir, { segmentBytes: 20_000 })
  fill(writer, 4000, 37)
  writer.close()
  const address = `s3://${BUCKET}/${randomUUID()}?endpoint=${server.endpoint}`
  const objects = openObjects(address, process.env)
  // Later than the last write by any clock of a file system.
  const now = (Date.now() + 1000) * 1000
  const moved = await moveAway({
    dir,
    venue: 'venueb',
    objects,
    owner: 1,
    before: now,
    packed: 4000,
    now,
    keepUnused: 0,
  })
  expect(moved.files).toBeGreaterThan(5)
  const other = join(createFolder(), 'journal')
  expect(await findAway(other, objects)).toMatchObject({ found: moved.files })
  for (const folder of [dir, other]) {
    const { bytes } = contentOf(1234)
    const records = await fetchRecords({ dir: folder, venue: 'venueb' }, 1234, 1234)
    expect(records.get(1234)?.bytes).toEqual(bytes)
  }
  let records = 0
  for (const item of readJournal({ dir, venue: 'venueb' })) {
    if (item.kind === 'damage') throw new Error(JSON.stringify(item))
    for (const [at, bytes] of item.bytes.entries()) {
      expect(bytes).toEqual(contentOf(item.first + at).bytes)
      records++
    }
  }
  expect(records).toBe(4000)
})
