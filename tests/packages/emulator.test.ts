import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invite, packed } from './stranger.ts'

const stranger = invite('emulator')
const { home: clean } = stranger

beforeAll(() => stranger.install(...packed('priorbook-sdk', 'priorbook-emulator')), 600_000)

afterAll(() => stranger.leave(), 600_000)

describe('the packed emulator', () => {
  it('depends on the SDK and ws alone and contains no sources', () => {
    const home = join(clean, 'node_modules/@priorbook/emulator')
    const files = readdirSync(home, { recursive: true }) as string[]
    expect(files.filter((name) => /(?<!\.d)\.ts$|\.(test|testing)\./.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'lib/index.js']))
    const { private: isPrivate, dependencies } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Record<string, object>
    expect(isPrivate).toBeUndefined()
    expect(Object.keys(dependencies!)).toEqual(['@priorbook/sdk', 'ws'])
    expect(readdirSync(join(clean, 'node_modules/@priorbook')).sort()).toEqual(['emulator', 'sdk'])
  })

  it('starts from the command line, answers a request and ends with its parent', async () => {
    const args = ['--json', '--venues', 'venueb', '--until-stdin-ends']
    const child = stranger.start('priorbook-emulator', args)
    const errors: string[] = []
    child.stderr!.on('data', (data: Buffer) => errors.push(data.toString()))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const line = await Promise.race([
      new Promise<string>((resolve) => {
        createInterface({ input: child.stdout! }).once('line', resolve)
      }),
      ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${errors.join('')}`))),
    ])
    const { venueb } = JSON.parse(line) as { venueb: { rest: string } }
    const answer = await fetch(`${venueb.rest}/markets?status=open&limit=1`)
    expect(((await answer.json()) as { markets: unknown[] }).markets).toHaveLength(1)
    child.stdin!.end()
    expect([await ended, errors]).toEqual([0, []])
  })
})
