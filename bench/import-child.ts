import { join } from 'node:path'
import { channelFolder } from './lib/recordings.ts'

// The import command as a user runs it, by its own entry; prints how long it took and how much memory,
// start-up included.
const [recordings, data] = process.argv.slice(2)
const files = join(recordings!, channelFolder)
process.argv.splice(2, Infinity, 'import', 'venueb', '--data', data!, files)
const entry = new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url)
// The entry does not wait for the command, so the figures are printed when the process ends.
process.once('exit', () => {
  const seconds = performance.now() / 1000
  console.log(JSON.stringify({ seconds, rssMb: process.resourceUsage().maxRSS / 1000 }))
})
await import(entry.href)
