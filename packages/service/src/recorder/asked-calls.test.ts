import { join } from 'node:path'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { journalStats } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { AskedCalls } from '../venues/capture/contract.ts'
import { CallCounter, readAskedCalls } from './asked-calls.ts'
import { catchUp } from './catch-up.ts'
import { createDataFolder, read, record, START_MS } from './scripted.testing.ts'

const REQUEST = { kind: 'categories' }

/** Three calls in the first second, one of them in vain, one in the next, and two later. */
function play(data: DataFolder): Promise<unknown> {
  return record(data, 'venuea', (script) => {
    for (const ms of [0, 500]) {
      script.wait(ms)
      script.answer(REQUEST, { categories: [] })
    }
    script.note({ note: 'failed', request: REQUEST, status: 429, why: 'a test' })
    script.wait(500)
    script.answer(REQUEST, { categories: [] })
    script.wait(5000)
    for (let call = 0; call < 2; call++) script.answer(REQUEST, { categories: [] })
  })
}

const span = (from: number, count: number): AskedCalls => ({
  until: toMicros((START_MS + from + 1000) * 1000),
  count,
})
const EXPECTED = [span(0, 3), span(1000, 1), span(6000, 2)]

it('calls of venue A are counted by their answers and failures', async () => {
  const data = createDataFolder()
  await play(data)
  expect(await read(data, (store) => readAskedCalls(store, 'venuea'))).toEqual(EXPECTED)
})

it('a restart at any record counts no call twice and forgets none', async () => {
  const data = createDataFolder()
  await play(data)
  for (let cut = 1; cut < journalStats(data.journal, 'venuea').last!; cut++) {
    const file = join(data.path, `cut-${cut}.db`)
    const before = openEmbeddedStore({ file })
    await catchUp(before, data.journal, 'venuea', undefined, cut)
    await before.close()
    const after = openEmbeddedStore({ file })
    await catchUp(after, data.journal, 'venuea')
    const asked = await readAskedCalls(after, 'venuea')
    await after.close()
    expect({ cut, asked }).toEqual({ cut, asked: EXPECTED })
  }
})

it('a span replaces one that ended long ago', () => {
  const counter = new CallCounter('venuea')
  const at = (seconds: number) => toMicros(START_MS * 1000 + seconds * 1_000_000)
  const [name, first] = counter.note(at(0))
  expect(counter.note(at(0.5))).toEqual([name, first + 1])
  const [again, later] = counter.note(at(64))
  expect(again).toBe(name)
  expect(later % 65_536).toBe(1)
})
