import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VenueRecorders } from '../packages/service/src/commands/venue-recorders.ts'
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
const config = loadConfig({ env })
const journalDir = join(folder!, 'journal')
const log = { info: () => undefined, warn: console.error, error: console.error }
const recorder =
  process.env['BENCH_PROCESSES'] === 'venue'
    ? new VenueRecorders({
        store,
        venues: ['venueb', 'venuec'],
        order: { config, addresses, tape: join(folder!, 'tape.db'), journalDir },
        log,
      })
    : await openRecorder({
        store,
        journalDir,
        origin: 'emulator',
        recorder: 'bench',
        log,
        connectors: toConnectors(config, addresses),
      })
const timer = setInterval(() => {
  const { venues, lag } = recorder.status()
  const all = Object.values(venues)
  const family = readFamily()
  const line: BreadthSecond = {
    messages: all.reduce((sum, { messages }) => sum + messages, 0),
    books: all.reduce((sum, { books }) => sum + books.open, 0),
    ...family,
    lagP99Ms: lag.p99Ms,
    details: all.map(({ connector: { state, detail } }) => `${state}: ${detail}`),
  }
  console.log(JSON.stringify(line))
}, 1000)
await recorder.run(stop.signal)
clearInterval(timer)
await store.close()
process.exit(0)

/** Processor time and memory of this process and of those that it started. */
function readFamily(): { readonly cpuSeconds: number; readonly rssMb: number } {
  const { pid } = process
  const { user, system } = process.cpuUsage()
  let [cpuSeconds, rssMb] = [(user + system) / 1e6, process.memoryUsage.rss() / 1e6]
  for (const child of readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')) {
    if (child === '') continue
    // Fields after the name in parentheses; times are in hundredths of a second, memory in pages.
    const fields = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ')[1]!.split(' ')
    cpuSeconds += (Number(fields[11]) + Number(fields[12])) / 100
    rssMb += (Number(fields[21]) * 4096) / 1e6
  }
  return { cpuSeconds, rssMb }
}
