import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { benchInstrument, moveEvent, readFeeds } from './lib/feed.ts'

// Fills a store with recorded events under other names until it is killed, telling how far it is.
const [file, recordings, wanted] = process.argv.slice(2)
const total = Number(wanted)
const PER_INSTRUMENT = Math.min(100_000, Math.max(20_000, total / 500))
const TOGETHER = 10
const ROUNDS = 1000

const feeds = readFeeds(recordings!, 60_000).map((feed) => feed.slice(0, 20_000))
const store = openEmbeddedStore({ file: file! })
const start = performance.now()
let done = 0
let journal = 0
let number = 0
while (done < total) {
  // Ten markets at a time, as they would be open at a time; a feed starts over with a later clock.
  const names = Array.from({ length: TOGETHER }, () => benchInstrument(number++))
  const assemblers = names.map((name) => new BookAssembler(name))
  for (let row = 0; row < PER_INSTRUMENT && done < total; row += ROUNDS) {
    const observations: Observation[] = []
    for (let index = row; index < row + ROUNDS; index++) {
      for (let at = 0; at < TOGETHER && done + observations.length < total; at++) {
        const feed = feeds[at % feeds.length]!
        const lap = Math.floor(index / feed.length)
        const event = feed[index % feed.length]!
        const shift = lap * 3_600_000_000
        const taken = assemblers[at]!.take(moveEvent(event, names[at]!, ++journal, shift))
        if ('violation' in taken) throw new Error(taken.violation)
        observations.push(taken)
      }
    }
    await store.append({
      venue: 'venueb',
      position: journal,
      origin: 'import',
      recorder: 'bench',
      normalizer: 1,
      observations,
    })
    done += observations.length
  }
  const seconds = (performance.now() - start) / 1000
  console.log(JSON.stringify({ done, seconds, rssMb: process.resourceUsage().maxRSS / 1000 }))
}
setInterval(() => undefined, 1000)
