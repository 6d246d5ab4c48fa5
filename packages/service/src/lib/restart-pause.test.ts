import { expect, it } from 'vitest'
import { RestartPause } from './restart-pause.ts'

it('doubles up to the longest pause, and is the shortest again after a steady process', () => {
  const pause = new RestartPause(100, 500)
  expect([0, 0, 60_000, 10].map((livedMs) => pause.after(livedMs))).toEqual([200, 400, 500, 500])
  expect([60_001, 0].map((livedMs) => pause.after(livedMs))).toEqual([100, 200])
})
