import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lockPart } from './part-lock.ts'

const { signal } = new AbortController()
// No process has this number: the most is 2^22.
const GONE = 2 ** 22 + 1
const OLD = new Date(Date.now() - 61_000)

function createPart(): { readonly folder: string; readonly part: string; readonly lock: string } {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-part-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const part = join(folder, 'x.csv.part')
  return { folder, part, lock: `${part}.lock` }
}

/** Writes the lock of another process as it stands on disk. */
async function leave(part: string, change: object): Promise<void> {
  const held = await lockPart(part, signal)
  const entry = JSON.parse(readFileSync(`${part}.lock`, 'utf8')) as object
  await held.release()
  writeFileSync(`${part}.lock`, JSON.stringify({ ...entry, owner: 'another', ...change }))
}

describe('the lock of a part', () => {
  it('is refused while another holds it, with what to do', async () => {
    const { folder, part, lock } = createPart()
    const held = await lockPart(part, signal)
    await expect(lockPart(part, signal)).rejects.toMatchObject({
      exit: 'failed',
      message: `process ${process.pid} is writing ${part}`,
      hint: expect.stringContaining(`remove ${lock}`),
    })
    await held.check()
    await held.release()
    await (await lockPart(part, signal)).release()
    expect(readdirSync(folder)).toEqual([])
  })

  it('is that of a process that runs, though it is not one of ours', async () => {
    const { part } = createPart()
    await leave(part, { pid: process.ppid })
    await expect(lockPart(part, signal)).rejects.toThrow(`process ${process.ppid} is writing`)
  })

  it('is waited for where that is wanted, and told once', async () => {
    const { part } = createPart()
    const held = await lockPart(part, signal)
    const told: string[] = []
    const waiting = lockPart(part, signal, (why) => {
      told.push(why)
      setTimeout(() => void held.release(), 600)
    })
    await (await waiting).release()
    expect(told).toEqual([`process ${process.pid} is writing ${part}`])
  })

  it('is not waited for any more after Ctrl-C', async () => {
    const { part } = createPart()
    const held = await lockPart(part, signal)
    const stop = new AbortController()
    const waiting = lockPart(part, stop.signal, () => stop.abort(new Error('interrupted')))
    await expect(waiting).rejects.toThrow('interrupted')
    await held.check()
    await held.release()
  })

  it('is taken over from a process that is gone, and from an earlier one with this number', async () => {
    const { folder, part } = createPart()
    for (const pid of [GONE, process.pid]) {
      await leave(part, { pid })
      await (await lockPart(part, signal)).release()
    }
    expect(readdirSync(folder)).toEqual([])
  })

  it('is taken over by one of many at a time', async () => {
    const { folder, part } = createPart()
    await leave(part, { pid: GONE })
    let holders = 0
    let most = 0
    const work = async (): Promise<void> => {
      const held = await lockPart(part, signal, () => undefined)
      most = Math.max(most, ++holders)
      await new Promise((resolve) => setTimeout(resolve, 20))
      await held.check()
      holders--
      await held.release()
    }
    await Promise.all(Array.from({ length: 8 }, work))
    expect(most).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  it.each(['', 'no JSON', 'null', '{"pid":0}', '{"pid":"7"}'])(
    'that says %j is taken over after a minute',
    async (text) => {
      const { part, lock } = createPart()
      writeFileSync(lock, text)
      await expect(lockPart(part, signal)).rejects.toThrow('another process is writing')
      utimesSync(lock, OLD, OLD)
      await (await lockPart(part, signal)).release()
      expect(existsSync(lock)).toBe(false)
    },
  )

  it('of another machine is taken over when it is not renewed any more', async () => {
    const { part, lock } = createPart()
    // Another container may have the same host name, and its process numbers are its own.
    await leave(part, { pid: GONE, machine: 'another' })
    await expect(lockPart(part, signal)).rejects.toThrow(`process ${GONE} of ${hostname()} is`)
    utimesSync(lock, OLD, OLD)
    await (await lockPart(part, signal)).release()
  })

  it('is lost for a process that stood still, which leaves the new one alone', async () => {
    const { part, lock } = createPart()
    const held = await lockPart(part, signal)
    rmSync(lock)
    const next = await lockPart(part, signal)
    await expect(held.check()).rejects.toMatchObject({
      exit: 'failed',
      hint: expect.stringContaining('again'),
    })
    await held.release()
    await next.check()
    await next.release()
  })

  it('does not stop for a guard whose process was killed', async () => {
    const { folder, part, lock } = createPart()
    await leave(part, { pid: GONE })
    writeFileSync(`${lock}.old`, '')
    utimesSync(`${lock}.old`, OLD, OLD)
    await (await lockPart(part, signal)).release()
    expect(readdirSync(folder)).toEqual([])
  })
})
