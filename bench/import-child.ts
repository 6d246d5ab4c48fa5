import { join } from 'node:path'
import { boundYoungGeneration } from '../packages/service/src/lib/memory.ts'
import { main } from '../packages/service/src/main.ts'
import { channelFolder } from './lib/recordings.ts'

// The import command as a user runs it; prints how long it took and how much memory, start-up included.
boundYoungGeneration()
const [recordings, data] = process.argv.slice(2)
await main(['import', 'venueb', '--data', data!, join(recordings!, channelFolder)])
const seconds = performance.now() / 1000
console.log(JSON.stringify({ seconds, rssMb: process.resourceUsage().maxRSS / 1000 }))
