import { load, type LoadJob } from './http-load.ts'

// One job of JSON text as its argument, one line of JSON as its result.
process.stdout.write(`${JSON.stringify(await load(JSON.parse(process.argv[2]!) as LoadJob))}\n`)
