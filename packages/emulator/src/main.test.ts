import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { main } from './main.ts'

const bin = join(import.meta.dirname, '../bin/priorbook-emulator.mjs')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-emulator-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Run = {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  readonly line: () => Promise<string>
}

function run(...args: string[]): Run {
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  let text = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const first = new Promise<string>((resolve, reject) => {
    const take = (data: Buffer): void => {
      text += data.toString()
      if (text.includes('\n')) resolve(text.split('\n')[0]!)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('close', () => reject(new Error(`ended with ${text}`)))
  })
  first.catch(() => {})
  return { child, ended, line: () => first }
}

describe('priorbook-emulator', () => {
  it('prints its addresses as JSON, serves, logs, and ends with SIGTERM', async () => {
    const log = join(folder, 'truth.ndjson')
    const { child, ended, line } = run('--json', '--speed', '60', '--markets', '4', '--log', log)
    const told = JSON.parse(await line()) as Record<string, Record<string, string>>
    expect(Object.keys(told)).toEqual(['control', 'venuea', 'venueb', 'venuec'])
    // Between two rounds, which last 15 s here, one of them may just be over.
    const countOpen = async (): Promise<number> => {
      const markets = await fetch(`${told['venueb']!['rest']}/markets?status=open`)
      return ((await markets.json()) as { markets: unknown[] }).markets.length
    }
    await expect.poll(countOpen).toBe(4)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    const lines = readFileSync(log, 'utf8').trim().split('\n')
    expect(lines.map((text) => (JSON.parse(text) as { type: string }).type)).toContain('answer')
  })

  it('ends when its standard input does', async () => {
    const { child, ended, line } = run('--venues', 'venueb', '--until-stdin-ends')
    expect(await line()).toBe('venueb')
    child.stdin!.end()
    expect(await ended).toBe(0)
  })

  it('names the invalid argument of a call', async () => {
    for (const args of [
      ['--speed', 'x'],
      ['--speed', '1000'],
      ['--venues', 'venuex'],
      ['--history', '1.5'],
      ['--faults', 'often'],
      ['--flood', 'venueb'],
      ['--breadth', '20000'],
      ['--breadth', 'venuex:10'],
      ['--breadth', 'venueb:0.5'],
      ['--nonsense'],
    ]) {
      const errors: string[] = []
      const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
        errors.push(String(text))
        return true
      })
      expect([args, await main(args)]).toEqual([args, 2])
      spy.mockRestore()
      expect(errors.join('')).toContain('invalid_argument')
    }
  })
})
