import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { Problem } from '@priorbook/sdk/wire'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openAccess, type Access } from './access.ts'
import { createKeyText } from './key-text.ts'

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'priorbook-keys-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function open(path: string, now?: () => Micros): Access {
  const access = openAccess(path, now === undefined ? {} : { now })
  onTestFinished(() => access.close())
  return access
}

const NOW = 1_790_000_000_000_000

function codeOf(access: Access, header: string | undefined, at: number = NOW): string {
  try {
    return access.authenticator.check(header, toMicros(at)).plan
  } catch (error) {
    return (error as Problem).code
  }
}

describe('keys', () => {
  it('are accepted in the Authorization header alone', () => {
    const access = open(createFolder(), () => toMicros(NOW))
    const { key } = access.keys.create({ plan: 'quant' })
    expect(codeOf(access, `Bearer ${key}`)).toBe('quant')
    expect(codeOf(access, `bearer  ${key}`)).toBe('quant')
    expect(codeOf(access, undefined)).toBe('missing_key')
    expect(codeOf(access, key)).toBe('missing_key')
    expect(codeOf(access, `Basic ${key}`)).toBe('missing_key')
    expect(codeOf(access, `Bearer ${key} `)).toBe('invalid_key')
    expect(codeOf(access, `Bearer ${key.slice(0, -1)}`)).toBe('invalid_key')
    expect(codeOf(access, `Bearer ${createKeyText()}`)).toBe('invalid_key')
    expect(codeOf(access, `Bearer ${key.toUpperCase()}`)).toBe('invalid_key')
  })

  it('end when they expire, are revoked, or their overlap is over', () => {
    const access = open(createFolder(), () => toMicros(NOW))
    const short = access.keys.create({ plan: 'desk', expires: toMicros(NOW + 5_000_000) })
    expect(codeOf(access, `Bearer ${short.key}`, NOW + 4_000_000)).toBe('desk')
    expect(codeOf(access, `Bearer ${short.key}`, NOW + 5_000_000)).toBe('expired_key')
    const old = access.keys.create({ plan: 'quant', name: 'team' })
    const next = access.keys.roll(old.id, 60_000)
    expect(next).toMatchObject({ plan: 'quant', name: 'team' })
    expect(codeOf(access, `Bearer ${old.key}`, NOW + 59_000_000)).toBe('quant')
    expect(codeOf(access, `Bearer ${next.key}`, NOW + 59_000_000)).toBe('quant')
    expect(codeOf(access, `Bearer ${old.key}`, NOW + 61_000_000)).toBe('revoked_key')
    access.keys.revoke(next.lastFour)
    expect(codeOf(access, `Bearer ${next.key}`, NOW + 62_000_000)).toBe('revoked_key')
    expect(() => access.keys.roll(next.id, 0)).toThrow('was revoked')
    expect(() => access.keys.revoke('key_nobody')).toThrow('there is no such key')
  })

  it('change for other processes within a second', () => {
    const path = createFolder()
    const one = open(path)
    const other = open(path)
    const { key, id } = one.keys.create({ plan: 'quant' })
    expect(codeOf(other, `Bearer ${key}`, NOW)).toBe('quant')
    const revoked = one.keys.revoke(id).revoked!
    expect(codeOf(other, `Bearer ${key}`, revoked + 1_000_000)).toBe('revoked_key')
  })

  it('follow changes of plans.json, and ignore an invalid one', () => {
    const path = createFolder()
    const access = open(path)
    const { key } = access.keys.create({ plan: 'explorer' })
    expect(access.plans.find('explorer')!.per_second).toBe(1)
    const own = {
      rank: 0,
      venues: ['venuea'],
      assets: null,
      days: null,
      per_second: 9,
      per_minute: null,
      features: [],
    }
    writeFileSync(join(path, 'plans.json'), JSON.stringify({ plans: { explorer: own } }))
    const grant = access.authenticator.check(`Bearer ${key}`, toMicros(NOW))
    expect(grant.terms.per_second).toBe(9)
    writeFileSync(join(path, 'plans.json'), '{"plans": {"explorer": {"rank": "x"}}}')
    const later = access.authenticator.check(`Bearer ${key}`, toMicros(NOW + 1_000_000))
    expect(later.terms.per_second).toBe(9)
    expect(() => openAccess(path)).toThrow('plans.json: plans.explorer')
  })

  it('are never on disk, in whole or in part', () => {
    const path = createFolder()
    const access = open(path)
    const keys = [
      access.keys.create({ plan: 'desk' }).key,
      access.keys.roll(access.keys.create({ plan: 'quant' }).id, 1000).key,
      access.demoKey('desk'),
    ]
    expect(access.demoKey('desk')).toBe(keys[2])
    for (const key of keys) {
      expect(codeOf(access, `Bearer ${key}`, Date.now() * 1000)).not.toContain('key')
      void access.limiter.admit('key_x', access.plans.find('desk')!, Date.now())
      const files = readdirSync(path)
      expect(files).toContain('control.db')
      for (const file of files) {
        const bytes = readFileSync(join(path, file)).toString('latin1')
        expect(bytes.includes(key.slice(8, 32))).toBe(false)
      }
    }
  })
})
