import { text } from 'node:stream/consumers'
import { load, type LoadJob } from './http-load.ts'

// One job as JSON text on its input, one line of JSON as its result.
const job = JSON.parse(await text(process.stdin)) as LoadJob
process.stdout.write(`${JSON.stringify(await load(job))}\n`)
