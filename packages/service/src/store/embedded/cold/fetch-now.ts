import { readFileSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { ColdPlace } from './cold-places.ts'
import { ColdSource } from './cold-source.ts'

// The child process of `ColdSource.fetchNow`: reads an order from standard input, fetches the bytes, keeps
// them in the cache and prints them.

type Order = {
  readonly place: ColdPlace
  readonly cacheFolder: string
  readonly cacheBytes: number
}

const { place, cacheFolder, cacheBytes } = JSON.parse(readFileSync(0, 'utf8')) as Order
try {
  const bytes = await new ColdSource({ cacheFolder, cacheBytes }).fetch(place)
  process.stdout.write(bytes)
} catch (error) {
  const code = error instanceof PriorbookError ? error.code : 'objects_unavailable'
  process.stderr.write(`${code} ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
