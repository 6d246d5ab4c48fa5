import { readFileSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { NamedObject } from './block-source.ts'
import { openObjects } from './open-objects.ts'

// The child process of `BlockSource.fetchNow`: reads an order from standard input and prints the bytes.

type Order = {
  readonly object: NamedObject
  readonly start: number
  readonly length: number
}

const { object, start, length } = JSON.parse(readFileSync(0, 'utf8')) as Order
try {
  const store = openObjects(object.address, process.env, false)
  process.stdout.write(await store.read(object.name, start, length))
} catch (error) {
  const code = error instanceof PriorbookError ? error.code : 'objects_unavailable'
  process.stderr.write(`${code} ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
