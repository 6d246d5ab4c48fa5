import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRandom } from '../../packages/emulator/src/world/random.ts'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { startServe, type ServeProcess } from '../../packages/service/src/commands/serve.testing.ts'
import { measureDisk, type DiskSize } from './disk-size.ts'
import { Fold } from './fold.ts'
import { ServedReader } from './served-rows.ts'
import { judgeSoak } from './soak-page.ts'

// `npm run soak:retention -- --minutes N [--age SECONDS] [--speed N] [--changes N]
// [--page FILE]`: a recorder of emulated venues
// with limits of minutes. A client reads some markets all the time; at the end, every row that it saw has to be
// served or declared as gone. The exit status is 1 where the disk grows, a hole is undeclared or verify complains.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    age: { type: 'string', default: '60' },
    speed: { type: 'string', default: '60' },
    // Orders of a market each second at speed 1: few, so that a busy machine keeps up.
    changes: { type: 'string', default: '0.5' },
    page: { type: 'string' },
  },
})
const minutes = Number(values.minutes)
const ageSeconds = Number(values.age)
const home = mkdtempSync(join(tmpdir(), 'priorbook-soak-'))
const data = join(home, 'data')
const MEASURE_MS = 3000
const MARKETS_A_LOOK = 3
const LISTED = 500

const age = `${ageSeconds}s`
const LIMITS = {
  PRIORBOOK_RETENTION_TAPE_AGE: age,
  PRIORBOOK_RETENTION_JOURNAL_AGE: age,
  PRIORBOOK_RETENTION_QUARANTINE_AGE: age,
  PRIORBOOK_RETENTION_MARKETS_AGE: age,
  PRIORBOOK_PROOFS_AGE: age,
  PRIORBOOK_EMULATOR_CHANGES: values.changes,
  PRIORBOOK_LOG_LEVEL: 'warn',
}

async function soak(): Promise<boolean> {
  const args = ['--upstream', 'emulator', '--speed', values.speed, '--data', data, '--workers', '1']
  const served = await startServe(home, args, LIMITS)
  process.on('SIGINT', () => void served.child.kill('SIGTERM'))
  const made = await callServer('keys', 'create', '--plan', 'unlimited', '--data', data, '--json')
  const { key } = JSON.parse(made.out) as { key: string }
  const fold = new Fold()
  const { sizes, memoryMb } = await watch(served, new ServedReader(served.url, key), fold)
  const messages = await messagesOf(served)
  const exit = await served.end()
  if (served.printed().includes('"level":50')) console.log(served.printed())
  // A service that only serves removes nothing, so that the answers stand still.
  const still = await startServe(home, ['--role', 'api', '--data', data, '--workers', '1'])
  const result = await fold.judge(new ServedReader(still.url, key))
  const retentionGaps = await countGaps(still.url, key)
  await still.end()
  const verified = JSON.parse((await callServer('verify', '--data', data, '--json')).out) as {
    observations: number
    problems: unknown[]
  }
  const doctor = (await callServer('doctor', '--data', data)).code
  const { page, broken } = judgeSoak({
    date: new Date(),
    minutes,
    speed: Number(values.speed),
    changes: Number(values.changes),
    ageSeconds,
    sizes,
    memoryMb,
    messages,
    fold: result,
    retentionGaps,
    verified,
    doctor,
    exit,
  })
  console.log(page)
  if (values.page !== undefined) writeFileSync(values.page, page)
  return broken.length === 0
}

async function watch(
  served: ServeProcess,
  reader: ServedReader,
  fold: Fold,
): Promise<{ readonly sizes: DiskSize[]; readonly memoryMb: number[] }> {
  const sizes: DiskSize[] = []
  const memoryMb: number[] = []
  const random = createRandom('soak')
  const begun = performance.now()
  const seconds = (): number => (performance.now() - begun) / 1000
  while (seconds() < minutes * 60 && served.child.exitCode === null) {
    await pause(MEASURE_MS)
    sizes.push(measureDisk(data, seconds(), await messagesOf(served)))
    memoryMb.push(memoryOf(served.child.pid!))
    const markets = await reader.markets(LISTED)
    for (let look = 0; look < MARKETS_A_LOOK && markets.length > 0; look++) {
      await fold.look(reader, markets[random.int(markets.length)]!)
    }
    const { total } = sizes.at(-1)!
    if (sizes.length % 20 === 0) {
      console.log(`  ${Math.round(seconds())} s: ${(total / 1e6).toFixed(1)} MB`)
    }
  }
  return { sizes, memoryMb }
}

async function messagesOf({ ops }: ServeProcess): Promise<number> {
  const metrics = await (await fetch(`${ops}/metrics`)).text()
  const lines = metrics.match(/^priorbook_messages_total\{.*$/gm) ?? []
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function countGaps(url: string, key: string): Promise<number> {
  let count = 0
  for (let cursor = ''; ;) {
    const path = `${url}/v3/gaps?reason=retention&limit=1000${cursor}`
    const answer = await fetch(path, { headers: { authorization: `Bearer ${key}` } })
    const { data: gaps, pagination } = (await answer.json()) as {
      data: readonly object[]
      pagination: { next_cursor: string | null }
    }
    count += gaps.length
    if (pagination.next_cursor === null) return count
    cursor = `&cursor=${pagination.next_cursor}`
  }
}

function memoryOf(main: number): number {
  const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim()
  const pids = [main, ...(children === '' ? [] : children.split(' ').map(Number))]
  const kilobytes = pids.map((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0)
    } catch {
      return 0
    }
  })
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024
}

try {
  process.exitCode = (await soak()) ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 3 })
}
