import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startRecorderProcess, until, type RecorderProcess } from '../capture/recorder-process.ts'

/** A time in which the service did not run, in milliseconds. */
export type Outage = { readonly from: number; to: number }

/** Memory and descriptors of the service and its workers at a time. */
export type Usage = {
  readonly at: number
  readonly rssMb: number
  /** Its own part: without the pages of mapped files, which grow with the tape up to a bound. */
  readonly ownMb: number
  readonly descriptors: number
}

const WAIT_MS = 60_000
// What a full disk keeps free: too little for a block of the journal.
const LEFT_BYTES = 16_384

/** The service under chaos: it is killed and started again, and its disk is filled and freed. */
export class ChaosService {
  readonly outages: Outage[] = []
  readonly deaths: number[] = []
  /** How long it took to answer after each start, without the time that it waited for a processor, in ms. */
  readonly starts: number[] = []
  /** That time, by start. */
  readonly waits: number[] = []
  /** How long it took to record after each full disk, in ms. */
  readonly resumes: number[] = []
  /** When full disks were freed, in microseconds. */
  readonly freed: number[] = []
  readonly noise: string[] = []
  usage: Usage[] = []
  /** Workers that outlived the service that started them. */
  orphans = 0
  #process: RecorderProcess | undefined
  readonly #home: string
  readonly #env: Readonly<Record<string, string>>
  readonly #port: number

  constructor(home: string, env: Readonly<Record<string, string>>, port: number) {
    this.#home = home
    this.#env = env
    this.#port = port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(role: 'all' | 'api' = 'all'): Promise<void> {
    const from = Date.now()
    const args = ['--role', role, '--port', String(this.#port), '--workers', '1']
    this.#process = await startRecorderProcess(this.#home, this.#env, args)
    await until('an answer of the service', WAIT_MS, async () => {
      const answer = await fetch(`${this.url}/v3/health`).catch(() => undefined)
      return answer?.ok === true ? true : undefined
    })
    const tookMs = Date.now() - from
    const { pid } = this.#process
    const waitedMs = Math.min(
      tookMs,
      [pid, ...childrenOf(pid)].map(waitOf).reduce((a, b) => a + b),
    )
    this.starts.push(Math.round(tookMs - waitedMs))
    this.waits.push(Math.round(waitedMs))
  }

  /** Kills it without warning and starts it again. */
  async kill(): Promise<void> {
    const outage: Outage = { from: Date.now(), to: Infinity }
    this.outages.push(outage)
    const workers = childrenOf(this.#process!.pid)
    await this.#process!.end('SIGKILL')
    this.deaths.push(Date.now() * 1000)
    this.noise.push(...this.#process!.noise)
    await pause(1000)
    this.orphans += workers.filter(isAlive).length
    this.usage = []
    await this.start()
    outage.to = Date.now()
  }

  /** Stops it in order and gives its exit code. */
  async stop(): Promise<number | null> {
    const code = await this.#process!.end('SIGTERM')
    this.noise.push(...this.#process!.noise)
    return code
  }

  /** Fills the disk until nothing can be recorded, waits, and frees it. */
  async fillDisk(forMs: number): Promise<void> {
    const ballast = join(this.#home, 'ballast')
    const from = Date.now()
    const { bavail, bsize } = statfsSync(this.#home)
    await writeZeros(ballast, Math.max(0, bavail * bsize - LEFT_BYTES))
    const isFull = async (): Promise<boolean> =>
      (await this.#process!.status()).recorder?.diskFull === true
    await until('a full disk', WAIT_MS, async () => ((await isFull()) ? true : undefined))
    await pause(forMs)
    rmSync(ballast)
    const freed = Date.now()
    this.freed.push(freed * 1000)
    await until('recording again', WAIT_MS, async () => ((await isFull()) ? undefined : true))
    this.resumes.push(Date.now() - freed)
    console.log(`  disk full for ${((freed - from) / 1000).toFixed(1)} s`)
  }

  /** Takes note of memory and descriptors now. */
  measure(): void {
    const main = this.#process?.pid
    if (main === undefined) return
    const pids = [main, ...childrenOf(main)]
    const rssMb = pids.reduce((sum, pid) => sum + memoryOf(pid, 'VmRSS'), 0) / 1024
    const ownMb = pids.reduce((sum, pid) => sum + memoryOf(pid, 'RssAnon'), 0) / 1024
    const descriptors = pids.reduce((sum, pid) => sum + descriptorsOf(pid), 0)
    if (rssMb > 0) this.usage.push({ at: Date.now(), rssMb, ownMb, descriptors })
  }

  /** True where a request between two times met a service that ran. */
  wasUp(from: number, to: number): boolean {
    const isOut = this.outages.some((outage) => from < outage.to + 500 && to > outage.from - 500)
    return !isOut && this.#process?.code === undefined
  }
}

// By a process of its own, because this one is the venues too. It stops early where the recorder wrote
// meanwhile: then the disk is full all the more.
async function writeZeros(file: string, bytes: number): Promise<void> {
  const out = openSync(file, 'w')
  const head = spawn('head', ['-c', String(bytes), '/dev/zero'], {
    stdio: ['ignore', out, 'ignore'],
  })
  closeSync(out)
  await new Promise((resolve) => head.on('close', resolve))
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

// How long the main thread of a process was ready to run and another process had the processor, in ms. The
// promises are those of a machine that does nothing else.
function waitOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

// In kB.
function memoryOf(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  try {
    const line = new RegExp(String.raw`^${field}:\s+(\d+)`, 'm')
    return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}
