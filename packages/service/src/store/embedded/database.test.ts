import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { queryObjects } from 'node:v8'
import { expect, it, onTestFinished } from 'vitest'
import { Database } from './database.ts'
import { createTempFolder } from './temp-folder.testing.ts'

it('keeps a bounded number of the statements that read columns', () => {
  const database = new Database(join(createTempFolder(), 'tape.db'), false)
  onTestFinished(() => database.close())
  const before = queryObjects(StatementSync, { format: 'count' })
  const read = (at: number): void =>
    expect(database.columns(`SELECT ${at}, ?`, 'a')).toEqual([[at, 'a']])
  for (let at = 0; at < 2000; at++) read(at)
  expect(queryObjects(StatementSync, { format: 'count' }) - before).toBeLessThan(1000)
  // The first ones were forgotten, and are compiled again.
  read(0)
})
