import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ObjectStore } from '../../packages/service/src/objects/object-store.ts'
import {
  codeOf,
  listAll,
  someBytes,
  testObjects,
} from '../../packages/service/src/objects/objects.contract.ts'
import { openObjects } from '../../packages/service/src/objects/open-objects.ts'
import { startSeaweedFs, type SeaweedFs } from './seaweedfs.ts'

let server: SeaweedFs

beforeAll(async () => {
  server = await startSeaweedFs()
  await server.createBucket('objects')
})

afterAll(() => server?.stop())

/** An empty part of the bucket. */
function open(more: { readonly bucket?: string; readonly secret?: string } = {}): ObjectStore {
  const { bucket = 'objects', secret = server.secretAccessKey } = more
  return openObjects(`s3://${bucket}/${randomUUID()}?endpoint=${server.endpoint}`, {
    AWS_ACCESS_KEY_ID: server.accessKeyId,
    AWS_SECRET_ACCESS_KEY: secret,
  })
}

/** What every request of a store fails with. */
async function codesOf(store: ObjectStore): Promise<string[]> {
  const put = await codeOf(store.put('a', someBytes(10)))
  const read = await codeOf(store.read('a', 0, 1))
  const size = await codeOf(store.size('a'))
  const remove = await codeOf(store.remove('a'))
  return [put, read, size, remove, await codeOf(listAll(store))]
}

describe('objects in SeaweedFS', () => {
  testObjects(() => open())

  test('lists more objects than a page has', async () => {
    const store = open()
    const names = Array.from({ length: 1100 }, (_, index) => `d/${String(index).padStart(4, '0')}`)
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => store.put(name, someBytes(3))))
    }
    expect((await listAll(store)).map(({ name }) => name)).toEqual(names)
  })

  test('refuses a wrong secret', async () => {
    expect(new Set(await codesOf(open({ secret: 'wrong' })))).toEqual(new Set(['objects_refused']))
  })

  test('refuses a bucket that is not there', async () => {
    expect(new Set(await codesOf(open({ bucket: 'nowhere' })))).toEqual(
      new Set(['objects_refused']),
    )
  })
})
