import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openConnections } from './connections.ts'

it('counts connections over processes, and forgets ended processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-connections-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'limits.db')
  const trouble: string[] = []
  const one = openConnections(file, (why) => trouble.push(why))
  const other = openConnections(file, (why) => trouble.push(why))
  expect([one.open('k', 3), other.open('k', 3), one.open('k', 3)]).toEqual([true, true, true])
  expect([one.open('k', 3), other.open('k', 3), other.open('l', 1)]).toEqual([false, false, true])
  one.end('k')
  expect([other.open('k', 3), one.open('k', 3)]).toEqual([true, false])
  other.close()
  expect([one.open('k', 3), one.open('k', 3), one.open('k', 3)]).toEqual([true, true, false])
  one.close()
  expect(trouble).toEqual([])
})
