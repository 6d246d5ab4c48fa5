import { toMicros } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import type { Clock } from './clock.ts'
import { ManualClock } from './clock.testing.ts'
import { SteadyClock } from './steady-clock.ts'

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND

function create(): {
  steady: SteadyClock
  wall: Clock
  manual: ManualClock
  readonly step: (by: number) => void
} {
  const manual = new ManualClock()
  let shift = 0
  const wall: Clock = {
    now: () => toMicros(manual.now() + shift),
    monotonicMs: () => manual.monotonicMs(),
    setTimeout: (...timer) => manual.setTimeout(...timer),
    setInterval: (...timer) => manual.setInterval(...timer),
  }
  return { steady: new SteadyClock(wall), wall, manual, step: (by) => void (shift += by) }
}

test.each([-HOUR, HOUR])('a step of %i µs does not move it', async (by) => {
  const { steady, manual, step } = create()
  step(by)
  expect(steady.now()).toBe(manual.now())
  await manual.advance(10_000)
  expect(steady.now()).toBe(manual.now())
})

test('drift is followed, however far it leads', () => {
  const { steady, wall, step } = create()
  for (let turn = 0; turn < 20; turn++) {
    step(SECOND / 2)
    expect(steady.now()).toBe(wall.now())
  }
})

test('a stepped wall clock that a venue agrees with is followed', () => {
  const { steady, wall, manual, step } = create()
  step(HOUR)
  steady.compared(-HOUR, 20_000)
  expect(steady.now()).toBe(manual.now())
  steady.compared(400_000, 20_000)
  expect(steady.now()).toBe(wall.now())
})

test('a venue whose clock is wrong does not move it', () => {
  const { steady, wall } = create()
  steady.compared(100 * SECOND, 20_000)
  expect(steady.now()).toBe(wall.now())
})
