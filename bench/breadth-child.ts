import { join } from 'node:path'
import { toConnectors, type EmulatedAddresses } from '../packages/service/src/commands/emulated.ts'
import { loadConfig } from '../packages/service/src/config/index.ts'
import { openRecorder } from '../packages/service/src/recorder/recorder.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import type { BreadthSecond } from './breadth.ts'

// Records all markets of venues B and C of the emulator, telling every second how far it is, until standard
// input ends.
const [folder, json] = process.argv.slice(2)
const addresses = JSON.parse(json!) as EmulatedAddresses
const stop = new AbortController()
process.stdin.resume()
process.stdin.once('end', () => stop.abort())

const store = openEmbeddedStore({ file: join(folder!, 'tape.db') })
const env = {
  PRIORBOOK_VENUEA_ENABLED: 'false',
  PRIORBOOK_VENUEB_SELECT: 'all',
  PRIORBOOK_VENUEC_SELECT: 'all',
}
const recorder = await openRecorder({
  store,
  journalDir: join(folder!, 'journal'),
  origin: 'emulator',
  recorder: 'bench',
  log: { info: () => undefined, warn: console.error, error: console.error },
  connectors: toConnectors(loadConfig({ env }), addresses),
})
const timer = setInterval(() => {
  const { venues, lag } = recorder.status()
  const all = Object.values(venues)
  const { user, system } = process.cpuUsage()
  const line: BreadthSecond = {
    messages: all.reduce((sum, { messages }) => sum + messages, 0),
    books: all.reduce((sum, { books }) => sum + books.open, 0),
    cpuSeconds: (user + system) / 1e6,
    rssMb: process.memoryUsage.rss() / 1e6,
    lagP99Ms: lag.p99Ms,
    details: all.map(({ connector: { state, detail } }) => `${state}: ${detail}`),
  }
  console.log(JSON.stringify(line))
}, 1000)
await recorder.run(stop.signal)
clearInterval(timer)
await store.close()
process.exit(0)
