import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Gap } from '@priorbook/sdk/domain'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import { startEmulator } from '../../packages/emulator/src/emulator.ts'
import { randomSchedule } from '../../packages/emulator/src/faults/schedule.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { createRandom } from '../../packages/emulator/src/world/random.ts'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { check } from '../capture/checker.ts'
import { toLiveEnvironment } from '../capture/recorder-process.ts'
import { createSeenRows } from '../capture/seen-rows.ts'
import { isOfUnread } from '../capture/unread.ts'
import { gather, type Truth } from '../capture/wire-log.ts'
import { freePort, run as runCommand } from '../service-process.ts'
import { LiveReader, PageReader, Prober } from './chaos-readers.ts'
import { judge, printPage, toMarkdown, type Findings } from './chaos-page.ts'
import { ChaosService } from './chaos-service.ts'

// Run by `chaos.ts` in a private mount; the order is its only argument.
const order = JSON.parse(process.argv[2]!) as {
  readonly minutes: string
  readonly seed: string
  readonly speed: string
  readonly disk: string
  readonly canFill: boolean
  readonly page?: string
  readonly keep?: string
}
const TOTAL_MS = Number(order.minutes) * 60_000
// Then the same processes run to the end, so that their memory can be judged.
const TROUBLE_MS = TOTAL_MS * 0.5
const FIRST_MS = 10_000
// What was on its way when the service was told to stop.
const ON_ITS_WAY = 500_000

async function chaos(): Promise<Findings> {
  const { disk, seed, canFill } = order
  const speed = Number(order.speed)
  const options = { durationMs: TOTAL_MS - 8000, venues: EMULATED_VENUES, everyMs: 10_000 }
  const faults = randomSchedule(seed, options)
  const emulator = await startEmulator({ seed, speed, faults, log: { memory: true } })
  const data = toDataFolder(join(disk, 'data'))
  mkdirSync(data.path, { recursive: true })
  const key = /pb_live_\w+/.exec(
    runCommand('keys', 'create', '--plan', 'unlimited', '--data', data.path),
  )![0]
  const env = {
    ...toLiveEnvironment(emulator.addresses, disk),
    PRIORBOOK_EMULATOR_SPEED: String(speed),
    PRIORBOOK_LOG_LEVEL: 'warn',
  }
  const service = new ChaosService(disk, env, await freePort())
  await service.start()
  const stop = new AbortController()
  const pages = new PageReader(service, key)
  const prober = new Prober()
  const live = new LiveReader()
  const following = new AbortController()
  const readers = [pages.run(stop.signal), prober.run(service, key, stop.signal)]
  const liveRun = live.run(service, key, following.signal)
  const seen = createSeenRows()
  const store = openEmbeddedStore({ file: data.tape, readOnly: true })
  const meter = setInterval(() => service.measure(), 1000)
  const fills = await trouble(service, () => seen.look(store), canFill)
  clearInterval(meter)
  await seen.look(store)
  stop.abort()
  await Promise.all(readers)
  const until = Date.now() * 1000 - ON_ITS_WAY
  const code = await service.stop()
  // The stream goes on over a service that only serves, so that the last rows arrive.
  await service.start('api')
  const liveDifferences = await live.differences(store, 20_000)
  following.abort()
  await liveRun.catch(() => undefined)
  await service.stop()
  await emulator.close()
  console.log('  judging')
  const verdict = await check(emulator.truth.entries, store, { until })
  const { observations, trades } = seen
  const differences = await seen.differences(store)
  const compared = await compareWithJournal(store, data)
  const downs = await store.gaps({ reason: 'recorder_down' })
  const fulls = await store.gaps({ reason: 'disk_full' })
  const unended = findUnended(fulls, gather(emulator.truth.entries), service.freed, until)
  await store.close()
  const complaints = verdict.complaints.filter((text) => !isOfUnread(text, service.deaths))
  if (order.keep !== undefined && complaints.length > 0) {
    keepEvidence(order.keep, data.path, emulator.truth.entries)
  }
  return {
    minutes: Number(order.minutes),
    faults: faults.length,
    fills,
    canFill,
    service,
    code,
    pages,
    prober,
    live,
    liveDifferences,
    verdict: { ...verdict, complaints },
    seen: { rows: observations, trades, differences },
    journal: [...compared.differences, ...compared.damage].map((one) => JSON.stringify(one)),
    downs,
    fulls,
    unended,
  }
}

function keepEvidence(folder: string, data: string, entries: readonly TruthEntry[]): void {
  cpSync(data, join(folder, 'data'), { recursive: true })
  const wire = join(folder, 'wire.jsonl')
  for (let from = 0; from < entries.length; from += 1000) {
    const lines = entries.slice(from, from + 1000).map((entry) => `${JSON.stringify(entry)}\n`)
    appendFileSync(wire, lines.join(''))
  }
}

// A book that a full disk closed opens with the next full one, if the venue sends one and the recorder runs on.
function findUnended(
  fulls: readonly Gap[],
  { books }: Truth,
  freed: readonly number[],
  until: number,
): string[] {
  return fulls
    .filter(({ end }) => end === undefined)
    .flatMap(({ venue, key, start }) => {
      const from = freed.find((time) => time > start) ?? Infinity
      const next = (books.get(`${venue}:${key}`) ?? []).find(
        ({ at, payload, delivered, isSpoiled }) =>
          at > from && at < until && payload.kind === 'full' && delivered && !isSpoiled,
      )
      if (next === undefined) return []
      const late = ((until - next.at) / 1e6).toFixed(1)
      return [`${venue}:${key} since ${start}: a full book was sent ${late} s before the end`]
    })
}

// Kills and full disks, one after the other, at random times; returns how often the disk was filled.
async function trouble(
  service: ChaosService,
  look: () => Promise<void>,
  canFill: boolean,
): Promise<number> {
  const random = createRandom(`${order.seed}/trouble`)
  const begun = Date.now()
  const passed = (): number => Date.now() - begun
  let fills = 0
  await pause(Math.min(FIRST_MS, TROUBLE_MS / 3))
  for (let turn = 0; passed() < TROUBLE_MS; turn++) {
    await pause(4000 + random.next() * 10_000)
    await look()
    // The second trouble is a full disk, so that every run has one.
    if (canFill && (turn === 1 || random.chance(0.25))) {
      await service.fillDisk(2000 + random.next() * 3000)
      fills++
    } else await service.kill()
    console.log(
      `  ${Math.round(passed() / 1000)} s: ${service.deaths.length} kills, ${fills} fills`,
    )
  }
  while (passed() < TOTAL_MS) {
    await pause(Math.min(15_000, Math.max(0, TOTAL_MS - passed())))
    await look()
  }
  return fills
}

const promises = judge(await chaos())
const { lines, isWhole } = printPage(promises)
console.log(lines.join('\n'))
if (order.page !== undefined) {
  const { minutes, speed, seed } = order
  writeFileSync(order.page, toMarkdown(promises, { minutes, speed, seed, date: new Date() }))
}
process.exitCode = isWhole ? 0 : 1
