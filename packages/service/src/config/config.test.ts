import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configKeys, loadConfig } from './index.ts'

function fileOf(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'priorbook-config-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'priorbook.json')
  writeFileSync(file, text)
  return file
}

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof PriorbookError && error.code === 'invalid_config') return error.message
    throw error
  }
  return 'taken'
}

describe('the configuration', () => {
  it('has a default, a description and a variable for every value', () => {
    const keys = configKeys()
    expect(keys.length).toBeGreaterThan(20)
    for (const key of keys) {
      expect(key.default).toBeDefined()
      expect(key.description).toMatch(/\.$/)
    }
    expect(new Set(keys.map(({ variable }) => variable)).size).toBe(keys.length)
  })

  it('is overridden by the file, then the environment, then the command line', () => {
    const file = fileOf('{"ops": {"port": 1}, "venueb": {"series": ["A"]}, "recorder": "file"}')
    const env = {
      PRIORBOOK_RECORDER: 'env',
      PRIORBOOK_VENUEB_SERIES: 'X, Y',
      PRIORBOOK_OPS_PORT: '2',
    }
    const config = loadConfig({ file, env, given: new Map([['ops.port', '3']]) })
    expect(config.recorder).toBe('env')
    expect(config.venueb.series).toEqual(['X', 'Y'])
    expect(config.ops).toMatchObject({ host: '127.0.0.1', port: 3 })
    expect(loadConfig({ file, env: {} }).venueb.series).toEqual(['A'])
  })

  it('names the wrong value and its place', () => {
    const load = (text: string) => refusal(() => loadConfig({ file: fileOf(text), env: {} }))
    expect(load('{"ops": {"prot": 1}}')).toContain('there is no ops.prot; known: host, port')
    expect(load('{"ops": 5}')).toContain('ops is not an object')
    expect(load('{"ops": {"port": 70000}}')).toContain('ops.port must be <= 65535')
    expect(load('{"upstream": "real"}')).toContain('upstream')
    for (const rtds of ['here', 'https://x', 'wss://', 'wss://a b', 'ws://x:99999', 'ws://x/#y']) {
      expect(load(JSON.stringify({ venuec: { rtds } }))).toContain('venuec.rtds must be an address')
    }
    expect(load('{"venuec": {"rtds": ""}}')).toBe('taken')
    expect(load('{"venuec": {"referenceFeeds": ["chainlink", "mars"]}}')).toContain(
      'venuec.referenceFeeds must hold only words of twap60, twap30, chainlink, exchange',
    )
    expect(load('{')).toContain('is not JSON')
    expect(load('{"__proto__": {"data": 1}}')).toContain('there is no __proto__')
    expect(refusal(() => loadConfig({ file: '/nowhere/x.json', env: {} }))).toContain(
      'cannot be read',
    )
    const env = { PRIORBOOK_OPS_PORT: 'many' }
    expect(refusal(() => loadConfig({ env }))).toContain(
      'PRIORBOOK_OPS_PORT is "many", not a number',
    )
    const flag = { PRIORBOOK_VENUEB_ENABLED: 'yes' }
    expect(refusal(() => loadConfig({ env: flag }))).toContain('must be true or false')
  })
})
