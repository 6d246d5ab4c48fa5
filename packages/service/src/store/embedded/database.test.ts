import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { Database } from './database.ts'
import { createTempFolder } from './temp-folder.testing.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

it('keeps a bounded number of the statements that read columns', async () => {
  const database = new Database(join(createTempFolder(), 'tape.db'), false)
  onTestFinished(() => database.close())
  const prepared: WeakRef<StatementSync>[] = []
  const prepare = Object.getOwnPropertyDescriptor(DatabaseSync.prototype, 'prepare')!
  const original = prepare.value as (sql: string) => StatementSync
  // A spy would keep what was returned.
  Object.defineProperty(DatabaseSync.prototype, 'prepare', {
    ...prepare,
    value(this: DatabaseSync, sql: string) {
      const statement = original.call(this, sql)
      prepared.push(new WeakRef(statement))
      return statement
    },
  })
  onTestFinished(() => void Object.defineProperty(DatabaseSync.prototype, 'prepare', prepare))
  const read = (at: number): void =>
    expect(database.columns(`SELECT ${at}, ?`, 'a')).toEqual([[at, 'a']])
  for (let at = 0; at < 2000; at++) read(at)
  expect(prepared).toHaveLength(2000)
  // What a reference points at is kept until the turn ends.
  await nextTurn()
  collectGarbage()
  const kept = prepared.filter((statement) => statement.deref() !== undefined).length
  expect(kept).toBeGreaterThan(100)
  expect(kept).toBeLessThan(1000)
  // The first ones were forgotten, and are compiled again.
  read(0)
  expect(prepared).toHaveLength(2001)
})
