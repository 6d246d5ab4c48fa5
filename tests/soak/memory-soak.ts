import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { startServe, type ServeProcess } from '../../packages/service/src/commands/serve.testing.ts'

// `npm run soak:memory -- --minutes N [--speed N]`: a recorder of emulated venues with one API process, and a client
// that reads pages twice a second. Prints the least own memory of each minute. The exit status is 1 where the
// sum grows by more than 1 % an hour once it has run for 55 minutes: until then caches fill.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    speed: { type: 'string', default: '2' },
  },
})
const WARM_MINUTES = 55
const LEAST_MINUTES = 30
const SLOPE_PER_HOUR = 0.01
const minutes = Number(values.minutes)

async function soak(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-memory-'))
  const data = join(home, 'data')
  const args = ['--upstream', 'emulator', '--speed', values.speed, '--data', data, '--workers', '1']
  const served = await startServe(home, args, { PRIORBOOK_LOG_LEVEL: 'warn' })
  process.on('SIGINT', () => void served.child.kill('SIGTERM'))
  try {
    const made = await callServer('keys', 'create', '--plan', 'unlimited', '--data', data, '--json')
    const { key } = JSON.parse(made.out) as { key: string }
    return judge(await watch(served, key))
  } finally {
    await served.end()
    rmSync(home, { recursive: true, force: true })
  }
}

/** The least memory of each minute, in MB. */
async function watch(served: ServeProcess, key: string): Promise<number[]> {
  const floors: number[] = []
  const end = Date.now() + minutes * 60_000
  for (let minute = Infinity; Date.now() < end && served.child.exitCode === null;) {
    minute = Date.now() + 60_000
    for (let least = Infinity; ;) {
      await readSome(served.url, key).catch(() => undefined)
      least = Math.min(least, memoryOf(served.child.pid!))
      await pause(500)
      if (Date.now() < minute) continue
      floors.push(least)
      console.log(`minute ${floors.length}: ${least.toFixed(1)} MB`)
      break
    }
  }
  return floors
}

async function readSome(url: string, key: string): Promise<void> {
  const get = async (path: string): Promise<{ data: Record<string, string>[] }> => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
    return (await answer.json()) as { data: Record<string, string>[] }
  }
  const { data } = await get('/v3/markets?limit=50')
  const market = data[Math.floor(Math.random() * data.length)]
  if (market === undefined) return
  const base = market['venue'] === 'venuea' ? 'venuea-prediction' : market['venue']
  await get(`/v3/${base}/${market['market_id']}/snapshots?limit=100`)
  await get(`/v3/${base}/${market['market_id']}/trades?limit=100`)
}

/** Memory of the recorder and the API that is not a mapped file, in MB; the emulator is not ours to judge. */
function memoryOf(pid: number): number {
  const children = `/proc/${pid}/task/${pid}/children`
  const pids = existsSync(children) ? readFileSync(children, 'utf8').trim().split(' ') : []
  const own = pids.filter((one) => commandOf(one).includes('api-worker'))
  return [String(pid), ...own].reduce((sum, one) => sum + anonymousOf(one), 0) / 1000
}

function commandOf(pid: string): string {
  const file = `/proc/${pid}/cmdline`
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function anonymousOf(pid: string): number {
  const file = `/proc/${pid}/status`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(/RssAnon:\s+(\d+)/.exec(text)?.[1] ?? 0)
}

function judge(floors: readonly number[]): number {
  const warm = floors.slice(WARM_MINUTES)
  if (warm.length < LEAST_MINUTES) {
    console.log(`too short to judge: ${WARM_MINUTES + LEAST_MINUTES} minutes are needed`)
    return 0
  }
  const mean = warm.reduce((sum, mb) => sum + mb, 0) / warm.length
  const middle = (warm.length - 1) / 2
  const above = warm.reduce((sum, mb, minute) => sum + (minute - middle) * (mb - mean), 0)
  const below = warm.reduce((sum, _, minute) => sum + (minute - middle) ** 2, 0)
  const perHour = (60 * above) / below
  const share = ((100 * perHour) / mean).toFixed(2)
  console.log(
    `${perHour.toFixed(1)} MB an hour (${share} %), ${mean.toFixed(0)} MB on average, over ${warm.length} minutes`,
  )
  return perHour > SLOPE_PER_HOUR * mean ? 1 : 0
}

process.exitCode = await soak()
