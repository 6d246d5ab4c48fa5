import { expect, it } from 'vitest'
import { SerialQueue } from './serial-queue.ts'

it('runs tasks one at a time, in order, and continues after a failure', async () => {
  const queue = new SerialQueue()
  const log: string[] = []
  const task = (name: string, turns: number) => async (): Promise<string> => {
    log.push(`${name} starts`)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    log.push(`${name} ends`)
    return name
  }
  const first = queue.run(task('first', 5))
  const failed = queue.run(() => Promise.reject(new Error('no')))
  const last = queue.run(task('last', 0))
  await expect(failed).rejects.toThrow('no')
  expect([await first, await last]).toEqual(['first', 'last'])
  expect(log).toEqual(['first starts', 'first ends', 'last starts', 'last ends'])
})
