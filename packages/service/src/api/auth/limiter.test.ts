import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LIMITS_FILE, openLimiter, type Limiter } from './limiter.ts'
import { DEFAULT_PLANS, type Plan } from './plans.ts'

const planOf = (name: string): Plan => DEFAULT_PLANS.find((plan) => plan.name === name)!
const NOW = 1_790_000_000_000

function createFile(): string {
  const path = mkdtempSync(join(tmpdir(), 'priorbook-limits-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return join(path, LIMITS_FILE)
}

function open(file: string, onTrouble?: (why: string) => void): Limiter {
  const limiter = openLimiter(file, onTrouble)
  onTestFinished(() => {
    try {
      limiter.close()
    } catch {
      // The test closed it.
    }
  })
  return limiter
}

function countAdmitted(
  limiters: readonly Limiter[],
  plan: Plan,
  asked: number,
  at: number,
): number {
  let admitted = 0
  for (let index = 0; index < asked; index++) {
    const limiter = limiters[index % limiters.length]!
    if (limiter.admit('key_a', plan, at + index * 0.2)!.isAdmitted) admitted++
  }
  return admitted
}

describe('rate limits', () => {
  it('are exact over several handles of one file', () => {
    const file = createFile()
    const limiters = [open(file), open(file), open(file)]
    expect(countAdmitted(limiters, planOf('desk'), 1000, NOW)).toBe(100)
    expect(countAdmitted(limiters, planOf('desk'), 1000, NOW + 1100)).toBe(100)
  })

  it('survive a restart', () => {
    const file = createFile()
    const before = open(file)
    expect(countAdmitted([before], planOf('quant'), 20, NOW)).toBe(20)
    before.close()
    expect(countAdmitted([open(file)], planOf('quant'), 100, NOW + 100)).toBe(5)
  })

  it('name the refusing limit and when to retry', () => {
    const limiter = open(createFile())
    const plan = planOf('quant')
    let admitted = 0
    let at = NOW
    for (; admitted < 1000; at += 45) if (limiter.admit('key_a', plan, at)!.isAdmitted) admitted++
    const refused = limiter.admit('key_a', plan, at)!
    expect(refused).toMatchObject({ isAdmitted: false, refusedBy: { name: 'minute', quota: 1000 } })
    expect(refused.refusedBy!.nextMs).toBeGreaterThanOrEqual(NOW + 60_000)
    expect(limiter.admit('key_a', plan, refused.refusedBy!.nextMs)!.isAdmitted).toBe(true)
  })

  it('keep keys apart and leave unlimited plans alone', () => {
    const limiter = open(createFile())
    const plan = planOf('explorer')
    expect(limiter.admit('key_a', plan, NOW)!.isAdmitted).toBe(true)
    expect(limiter.admit('key_a', plan, NOW)!.isAdmitted).toBe(false)
    expect(limiter.admit('key_b', plan, NOW)!.isAdmitted).toBe(true)
    expect(limiter.admit('key_a', planOf('unlimited'), NOW)).toBeUndefined()
    expect(limiter.look('key_a', plan, NOW)).toMatchObject([{ name: 'second', remaining: 0 }])
  })

  it('are counted by each process alone while the file cannot be used', () => {
    const troubles: string[] = []
    const limiter = open(createFile(), (why) => troubles.push(why))
    limiter.close()
    expect(countAdmitted([limiter], planOf('quant'), 100, NOW)).toBe(25)
    expect(troubles.length).toBeGreaterThan(0)
  })

  it('replace a damaged file', () => {
    const file = createFile()
    writeFileSync(file, 'this is not a database '.repeat(100))
    expect(countAdmitted([open(file)], planOf('quant'), 100, NOW)).toBe(25)
  })
})
