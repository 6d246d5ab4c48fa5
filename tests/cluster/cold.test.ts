import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
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
