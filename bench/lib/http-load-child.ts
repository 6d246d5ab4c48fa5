import { createInterface } from 'node:readline'
import { load, type LoadJob } from './http-load.ts'

// Jobs as lines of JSON on its input, one after the other, each with a line of JSON as its result.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await load(JSON.parse(line) as LoadJob))}\n`)
}
