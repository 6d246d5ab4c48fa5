import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDiskForecast } from './disk-forecast.ts'

it('counts the bytes of a folder, and goes on when the folder is gone', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'priorbook-disk-'))
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }))
  const folder = join(scratch, 'data')
  mkdirSync(join(folder, 'journal'), { recursive: true })
  writeFileSync(join(folder, 'tape.db'), Buffer.alloc(3000))
  writeFileSync(join(folder, 'journal', '1.pbj'), Buffer.alloc(500))
  const look = createDiskForecast(folder)
  const before = look()
  expect(before).toMatchObject({ usedBytes: 3500, bytesPerSecond: 0 })
  expect(before.freeBytes).toBeGreaterThan(0)
  rmSync(folder, { recursive: true })
  expect(look()).toEqual({ usedBytes: 0, freeBytes: 0, bytesPerSecond: 0 })
})
